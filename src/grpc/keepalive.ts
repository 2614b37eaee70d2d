import type { Http2Session } from "node:http2";
import type { Socket } from "node:net";

export interface KeepaliveOptions {
  /** Silence after which a ping is sent. */
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

/**
 * Detects a peer that is gone without closing its connection. One timer per connection, none per call; it does not keep the process
 * alive. Any byte from the peer counts as a sign of life, because an answer may queue behind a large message. Returns the function
 * that ends it.
 */
export function startKeepalive(options: KeepaliveOptions, target: KeepaliveTarget): () => void {
  let timer: NodeJS.Timeout;
  let heard = target.socket.bytesRead;
  const after = (ms: number, next: () => void) => {
    timer = setTimeout(next, ms);
    timer.unref();
  };
  const check = () => {
    if (target.session.destroyed) return;
    const silent = target.socket.bytesRead === heard;
    heard = target.socket.bytesRead;
    if (!silent || !target.isActive()) return after(options.intervalMs, check);
    after(options.timeoutMs, judge);
    target.session.ping(() => {
      if (target.session.destroyed) return;
      clearTimeout(timer);
      heard = target.socket.bytesRead;
      after(options.intervalMs, check);
    });
  };
  const judge = () => {
    if (target.session.destroyed) return;
    if (target.socket.bytesRead === heard) return target.onDead();
    heard = target.socket.bytesRead;
    after(options.intervalMs, check);
  };
  after(options.intervalMs, check);
  return () => clearTimeout(timer);
}
