import type { ClientHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { createKeepAliveAgent, type HttpAgent } from "../../net/http-client/keep-alive-agent.ts";

/** Connections to the application that stay open from one probe to the next. */
export interface ProbeConnections {
  /** For plain HTTP. */
  readonly agent: HttpAgent;
  /** An idle TLS connection that speaks HTTP/1; the caller owns it until it gives it back. */
  take(target: string): Socket | undefined;
  keep(target: string, socket: Socket): void;
  /** HTTP/2 serves any number of probes at once. */
  session(target: string): ClientHttp2Session | undefined;
  keepSession(target: string, session: ClientHttp2Session): void;
  /** No connection is left open. */
  close(): void;
}

const IDLE_MS = 90_000;

export function createProbeConnections(): ProbeConnections {
  const agent = createKeepAliveAgent(IDLE_MS);
  const idle = new Map<string, Set<Socket>>();
  const known = new WeakSet<Socket>();
  const sessions = new Map<string, ClientHttp2Session>();
  return {
    agent,
    take(target) {
      const sockets = idle.get(target);
      for (const socket of sockets ?? []) {
        sockets?.delete(socket);
        socket.setTimeout(0);
        if (!socket.destroyed && socket.writable) return socket;
      }
      return undefined;
    },
    keep(target, socket) {
      const sockets = idle.get(target) ?? new Set();
      idle.set(target, sockets.add(socket));
      socket.setTimeout(IDLE_MS);
      // It comes back after every probe, for days: once is enough.
      if (known.has(socket)) return;
      known.add(socket);
      socket.once("close", () => sockets.delete(socket));
      socket.on("timeout", () => sockets.has(socket) && socket.destroy());
    },
    session(target) {
      const session = sessions.get(target);
      return session?.closed || session?.destroyed ? undefined : session;
    },
    keepSession(target, session) {
      sessions.set(target, session);
      session.setTimeout(IDLE_MS, () => session.close());
      session.once("close", () => sessions.get(target) === session && sessions.delete(target));
    },
    close() {
      agent.destroy();
      for (const sockets of idle.values()) for (const socket of sockets) socket.destroy();
      for (const session of sessions.values()) session.destroy();
    },
  };
}
