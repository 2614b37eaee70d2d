import type { Socket } from "node:net";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** "undecided": so far it could become either. */
export function protocolOf(seen: Buffer): "http1" | "http2" | "undecided" {
  const length = Math.min(seen.length, PREFACE.length);
  if (seen.compare(PREFACE, 0, length, 0, length) !== 0) return "http1";
  return length === PREFACE.length ? "http2" : "undecided";
}

export interface SplitOptions {
  readonly onHttp1: (socket: Socket) => void;
  readonly onHttp2: (socket: Socket) => void;
  /** How long a connection may take with the bytes that show its protocol. */
  readonly silenceMs: number;
}

/** Passes connections on by their first bytes: HTTP/2 begins with its preface. */
export function createProtocolSplitter({ onHttp1, onHttp2, silenceMs }: SplitOptions): (socket: Socket) => void {
  return (socket) => {
    let seen = Buffer.alloc(0);
    const ended = () => socket.destroy();
    const settle = () => {
      socket.off("data", look).off("error", ended).off("end", ended).off("timeout", ended);
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
      onHttp1(socket);
      // Not before the HTTP/1 side has put its own listeners on.
      setImmediate(() => socket.resume());
    };
    socket.setTimeout(silenceMs);
    socket.on("data", look).on("error", ended).on("end", ended).on("timeout", ended);
  };
}
