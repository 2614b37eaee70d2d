import type { Server } from "node:http";
import type { Socket } from "node:net";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** "undecided": so far it could become either. */
export function protocolOf(seen: Buffer): "http1" | "http2" | "undecided" {
  const length = Math.min(seen.length, PREFACE.length);
  if (seen.compare(PREFACE, 0, length, 0, length) !== 0) return "http1";
  return length === PREFACE.length ? "http2" : "undecided";
}

/**
 * Hands connections that begin with the preface of HTTP/2 to somebody else and leaves the others to the server, which goes on to own
 * the port. Returns the way to end those that have not said anything yet.
 */
export function splitProtocols(server: Server, onHttp2: (socket: Socket) => void, silenceMs: number): () => void {
  const waiting = new Set<Socket>();
  const serveHttp1 = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    let seen = Buffer.alloc(0);
    const ended = () => socket.destroy();
    const settle = () => {
      waiting.delete(socket);
      socket.off("data", look).off("error", ended).off("end", ended).off("close", settle).off("timeout", ended);
      socket.setTimeout(0);
    };
    const look = (chunk: Buffer) => {
      seen = Buffer.concat([seen, chunk]);
      const protocol = protocolOf(seen);
      if (protocol === "undecided") return;
      settle();
      socket.pause();
      socket.unshift(seen);
      if (protocol === "http2") return onHttp2(socket);
      for (const serve of serveHttp1) serve.call(server, socket);
      // Not before the HTTP/1 side has put its own listeners on.
      setImmediate(() => socket.resume());
    };
    waiting.add(socket);
    socket.setTimeout(silenceMs);
    socket.on("data", look).on("error", ended).on("end", ended).on("close", settle).on("timeout", ended);
  });
  return () => {
    for (const socket of waiting) socket.destroy();
  };
}
