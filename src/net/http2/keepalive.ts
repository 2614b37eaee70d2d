import type { Http2Session } from "node:http2";
import type { Socket } from "node:net";
import { MAX_TIMER_MS } from "../../base/timer-limit.ts";

/** Nothing, or less than that, means what it means to every gRPC server: two hours, and twenty seconds for the answer. */
export interface KeepaliveOptions {
  /** Silence after which a ping is sent; it is looked for four times in that span, so the ping may be a quarter late. */
  readonly intervalMs: number;
  /** Time the peer has to answer it. */
  readonly timeoutMs: number;
}

export interface KeepaliveTarget {
  readonly session: Http2Session;
  readonly socket: Socket;
  /** While false no pings are sent: servers punish clients that ping without a call. */
  readonly isActive: () => boolean;
  readonly onDead: () => void;
}

const DEFAULT_INTERVAL_MS = 2 * 60 * 60 * 1000;
const DEFAULT_TIMEOUT_MS = 20_000;
const LOOKS_PER_INTERVAL = 4;

/**
 * Detects a peer that is gone without closing its connection. One timer per connection, none per call; it does not keep the process
 * alive. Any byte from the peer counts as a sign of life, because an answer may queue behind a large message. Returns the function
 * that ends it.
 */
export function startKeepalive(options: KeepaliveOptions, target: KeepaliveTarget): () => void {
  const intervalMs = options.intervalMs > 0 ? options.intervalMs : DEFAULT_INTERVAL_MS;
  const timeoutMs = options.timeoutMs > 0 ? options.timeoutMs : DEFAULT_TIMEOUT_MS;
  const lookMs = intervalMs / LOOKS_PER_INTERVAL;
  let timer: NodeJS.Timeout;
  let heard = target.socket.bytesRead;
  let heardAt = performance.now();
  const after = (ms: number, next: () => void) => {
    timer = setTimeout(next, Math.min(ms, MAX_TIMER_MS));
    timer.unref();
  };
  const listen = (): boolean => {
    const { bytesRead } = target.socket;
    if (bytesRead === heard) return false;
    heard = bytesRead;
    heardAt = performance.now();
    return true;
  };
  const check = () => {
    if (target.session.destroyed) return;
    const silentMs = listen() ? 0 : performance.now() - heardAt;
    if (silentMs < intervalMs || !target.isActive()) return after(lookMs, check);
    after(timeoutMs, judge);
    target.session.ping(() => {
      if (target.session.destroyed) return;
      clearTimeout(timer);
      heard = target.socket.bytesRead;
      heardAt = performance.now();
      after(lookMs, check);
    });
  };
  const judge = () => {
    if (target.session.destroyed) return;
    if (!listen()) return target.onDead();
    after(lookMs, check);
  };
  after(lookMs, check);
  return () => clearTimeout(timer);
}
