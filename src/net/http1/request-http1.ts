import { EventEmitter } from "node:events";
import { connect, type LookupFunction, type Socket } from "node:net";
import { CodedError } from "../../base/coded-error.ts";
import { type BodyFraming, createFraming, parseHead } from "./framing.ts";

/** What reading a body needs. Chunks are valid during the call of their listener only: the buffer below is used again. */
export interface BodyStream {
  on(event: "data", listener: (chunk: Buffer) => void): unknown;
  on(event: "end" | "close", listener: () => void): unknown;
  on(event: "error", listener: (thrown: unknown) => void): unknown;
  off(event: "data", listener: (chunk: Buffer) => void): unknown;
  off(event: "end" | "close", listener: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
  destroy(): unknown;
  readonly destroyed: boolean;
  readonly errored: Error | null;
}

/** Buffers that are lent and come back. */
export interface ReadBuffers {
  take(): Buffer;
  give(buffer: Buffer): void;
}

export interface Http1Response {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: BodyStream;
}

export interface Http1Request {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly lookup?: LookupFunction;
  /** Silence for this long ends the exchange. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
  /** Has the buffer that is read into. */
  readonly pool: ReadBuffers;
}

export class Http1Error extends CodedError<"timeout" | "bad-answer" | "cut-off" | "too-large"> {}

const MAX_HEAD_BYTES = 64 * 1024;

/**
 * One GET, read into one buffer that is used again and again: with node's own client a hundred megabytes of statistics leave tens of
 * megabytes of read buffers to the garbage collector (bench/metrics-merge). Rejects before the head is there; later the body fails.
 */
export function requestHttp1(request: Http1Request): Promise<Http1Response> {
  return new Promise((resolve, reject) => {
    const body = new Http1Body();
    let head: Buffer | undefined = Buffer.alloc(0);
    let framing: BodyFraming | undefined;
    const take = (chunk: Buffer): void => {
      if (framing !== undefined) {
        framing.push(chunk);
        return;
      }
      head = Buffer.concat([head ?? chunk, chunk]);
      const parsed = parseHead(head);
      if (parsed === "incomplete") {
        if (head.length > MAX_HEAD_BYTES) throw new Http1Error("bad-answer", "the answer's head is too large");
        return;
      }
      if (parsed === "malformed") throw new Http1Error("bad-answer", "malformed HTTP response");
      const rest = head.subarray(parsed.length);
      head = undefined;
      framing = createFraming(parsed, { data: (part) => body.deliver(part), end: () => body.finish() });
      // The caller attaches its listeners first and resumes.
      body.isPaused = true;
      framing.push(rest);
      resolve({ status: parsed.status, headers: parsed.headers, body });
    };
    const readBuffer = request.pool.take();
    const socket = connect({
      host: request.url.hostname.replace(/^\[|\]$/g, ""),
      port: request.url.port === "" ? 80 : Number(request.url.port),
      ...(request.lookup && { lookup: request.lookup }),
      onread: {
        buffer: readBuffer,
        callback(size, buffer) {
          try {
            take((buffer as Buffer).subarray(0, size));
          } catch (thrown) {
            socket.destroy(thrown instanceof Error ? thrown : new Error(String(thrown)));
          }
          return !body.isPaused;
        },
      },
    });
    body.attach(socket, request.stallMs);
    const abort = () => socket.destroy(new Http1Error("timeout", "context deadline exceeded"));
    request.signal.addEventListener("abort", abort, { once: true });
    if (request.signal.aborted) abort();
    socket.setTimeout(request.stallMs, () =>
      socket.destroy(new Http1Error("timeout", `nothing came for ${request.stallMs} ms`)),
    );
    socket.on("end", () => framing?.end());
    socket.on("error", (thrown) => {
      body.errored ??= thrown;
      reject(thrown);
    });
    socket.on("close", () => {
      request.pool.give(readBuffer);
      request.signal.removeEventListener("abort", abort);
      const cut = new Http1Error("cut-off", "unexpected EOF");
      reject(cut);
      body.closed(cut);
    });
    socket.write(requestText(request));
  });
}

class Http1Body extends EventEmitter implements BodyStream {
  isPaused = false;
  destroyed = false;
  errored: Error | null = null;
  #socket: Socket | undefined;
  #stallMs = 0;
  /** The rest of the last read, for which there was no listener. */
  readonly #waiting: Buffer[] = [];
  #hasEnd = false;
  #isFinished = false;

  attach(socket: Socket, stallMs: number): void {
    this.#socket = socket;
    this.#stallMs = stallMs;
  }

  deliver(part: Buffer): void {
    // A reader that only wants a break gets the rest of this read at once: keeping it would need a copy each time.
    const isUnread = this.#waiting.length > 0 || this.listenerCount("data") === 0;
    if (this.isPaused && isUnread) this.#waiting.push(Buffer.from(part));
    else this.emit("data", part);
  }

  finish(): void {
    this.#hasEnd = true;
    if (!this.isPaused) this.#end();
  }

  pause(): void {
    this.isPaused = true;
    // Silence is the source's fault only while the body is read.
    this.#socket?.setTimeout(0);
    this.#socket?.pause();
  }

  resume(): void {
    this.isPaused = false;
    for (let part = this.#waiting.shift(); part !== undefined; part = this.#waiting.shift()) {
      this.emit("data", part);
      if (this.isPaused) return;
    }
    if (this.#hasEnd) this.#end();
    else if (this.destroyed) this.emit("close");
    else {
      this.#socket?.setTimeout(this.#stallMs);
      this.#socket?.resume();
    }
  }

  destroy(): void {
    this.destroyed = true;
    this.#socket?.destroy();
  }

  /** The connection is gone. A reader that pauses hears of it when it goes on. */
  closed(cut: Error): void {
    if (!this.#hasEnd) this.errored ??= cut;
    this.destroyed = !this.#hasEnd || this.#isFinished;
    if (!this.isPaused) this.emit("close");
  }

  #end(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.emit("end");
    this.#socket?.destroy();
  }
}

function requestText({ url, headers }: Http1Request): string {
  const lines = [`GET ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value.replace(/[\r\n\0]/g, " ")}`);
  return `${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`;
}
