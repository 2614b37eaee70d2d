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
  /** Those that others may join. */
  readonly #flying = new Map<string, Flight<Result>>();
  readonly #all = new Set<Flight<Result>>();
  #stopped = false;

  async run(key: string, timeoutMs: number, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    if (this.#stopped) throw new WasmError("timeout", "the agent is stopping");
    const flying = this.#flying.get(key);
    // One that was called off ends soon, and not well: whoever comes now has time for another.
    const flight = flying?.controller.signal.aborted === false ? flying : this.#start(key, work, timeoutMs);
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

  /** Ends all work and waits for it; none begins any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { controller } of this.#all) controller.abort();
    await Promise.allSettled([...this.#all].map(({ result }) => result));
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
        this.#all.delete(flight);
        if (this.#flying.get(key) === flight) this.#flying.delete(key);
      }),
    };
    flight.result.catch(() => undefined);
    this.#flying.set(key, flight);
    this.#all.add(flight);
    return flight;
  }

  #extend(flight: Flight<Result>, timeoutMs: number): void {
    const until = performance.now() + timeoutMs;
    if (until <= flight.until) return;
    flight.until = until;
    clearTimeout(flight.timer);
    flight.timer = setTimeout(() => flight.controller.abort(), Math.max(0, timeoutMs));
  }
}
