import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import { GrpcError } from "../status.ts";
import type { ClientSession } from "./client-session.ts";

/** The one current session of a channel: opened by the first call that needs it, replaced when it takes no new calls any more. */
export class SessionSlot {
  readonly #open: (signal: AbortSignal) => Promise<ClientSession>;
  readonly #connectTimeoutMs: number;
  readonly #stopped = new AbortController();
  /** Sessions that went away but still finish their calls are here too. */
  readonly #alive = new Set<ClientSession>();
  #opening: Promise<ClientSession> | undefined;
  #current: ClientSession | undefined;

  constructor(connectTimeoutMs: number, open: (signal: AbortSignal) => Promise<ClientSession>) {
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#open = open;
  }

  /** Callers that come while a connection is made share it, and its failure; the next caller after that tries again. */
  get(): Promise<ClientSession> {
    if (this.#stopped.signal.aborted) return Promise.reject(this.#stopped.signal.reason);
    if (this.#current?.isUsable()) return Promise.resolve(this.#current);
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  get alive(): Iterable<ClientSession> {
    return this.#alive;
  }

  async stop(): Promise<void> {
    const reason = new GrpcError("CANCELLED", "the channel was stopped");
    this.#stopped.abort(reason);
    await this.#opening?.catch(() => undefined);
    await Promise.all([...this.#alive].map((session) => destroy(session, reason)));
  }

  async #connect(): Promise<ClientSession> {
    const attempt = new AbortController();
    const expire = () => attempt.abort(new Error(`no answer within ${this.#connectTimeoutMs} ms`));
    const timer = setTimeout(expire, Math.min(this.#connectTimeoutMs, MAX_TIMER_MS));
    const onStop = () => attempt.abort(this.#stopped.signal.reason);
    this.#stopped.signal.addEventListener("abort", onStop);
    try {
      const session = await this.#open(attempt.signal);
      this.#alive.add(session);
      session.http2.once("close", () => this.#alive.delete(session));
      this.#current = session;
      return session;
    } finally {
      clearTimeout(timer);
      this.#stopped.signal.removeEventListener("abort", onStop);
    }
  }
}

function destroy(session: ClientSession, reason: GrpcError): Promise<void> {
  session.lost ??= reason;
  return new Promise((resolve) => {
    if (session.http2.destroyed) return resolve();
    session.http2.once("close", () => resolve());
    session.http2.destroy();
  });
}
