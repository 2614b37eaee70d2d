import { abortAfter } from "../../base/abort-after.ts";
import { WasmError } from "../wasm-error.ts";

interface Flight<Result> {
  readonly controller: AbortController;
  readonly result: Promise<Result>;
  /** The work ends with the last of those who wait. */
  until: number;
  timer: NodeJS.Timeout | undefined;
}

/** One piece of work per key at a time, shared by all who want it while it runs; each waits at most its own time. */
export class Flights<Result> {
  readonly #flying = new Map<string, Flight<Result>>();

  async run(key: string, timeoutMs: number, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const flight = this.#flying.get(key) ?? this.#start(key, work, timeoutMs);
    this.#extend(flight, timeoutMs);
    using limit = abortAfter(Math.max(0, timeoutMs));
    let onLimit: () => void = () => undefined;
    const late = new Promise<never>((_resolve, reject) => {
      onLimit = () => reject(new WasmError("timeout", `the module did not arrive within ${timeoutMs} ms`));
      // Its own end comes first when the work was begun for this request: it knows better what was under way.
      limit.signal.addEventListener("abort", () => setImmediate(onLimit), { once: true });
    });
    late.catch(() => undefined);
    return await Promise.race([flight.result, late]);
  }

  /** Ends all work and waits for it. */
  async stop(): Promise<void> {
    const flying = [...this.#flying.values()];
    for (const { controller } of flying) controller.abort();
    await Promise.allSettled(flying.map(({ result }) => result));
  }

  #start(key: string, work: (signal: AbortSignal) => Promise<Result>, timeoutMs: number): Flight<Result> {
    const controller = new AbortController();
    // Without time there is no attempt, not even a quick one.
    if (timeoutMs <= 0) controller.abort();
    const flight: Flight<Result> = {
      controller,
      until: 0,
      timer: undefined,
      result: work(controller.signal).finally(() => {
        clearTimeout(flight.timer);
        this.#flying.delete(key);
      }),
    };
    flight.result.catch(() => undefined);
    this.#flying.set(key, flight);
    return flight;
  }

  #extend(flight: Flight<Result>, timeoutMs: number): void {
    const until = Date.now() + timeoutMs;
    if (until <= flight.until) return;
    flight.until = until;
    clearTimeout(flight.timer);
    flight.timer = setTimeout(() => flight.controller.abort(), Math.max(0, timeoutMs));
  }
}
