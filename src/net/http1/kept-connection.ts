import { connect, type NetConnectOpts, type Socket } from "node:net";
import { type BodyFraming, createFraming, parseHead } from "./framing.ts";
import { Http1Error } from "./request-http1.ts";

export interface KeptLimits {
  /** From the first byte that is sent to the last one of the answer. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

export interface KeptAnswer {
  readonly status: number;
  /** As UTF-8. */
  readonly body: string;
}

/** One connection that stays open between requests, for whoever asks the same server again and again. */
export interface KeptConnection {
  /** A request is under way: another one has to take a connection of its own. */
  readonly isBusy: boolean;
  /** One request without a body. Rejects with an `Http1Error`, or with the reason why there is no connection. */
  ask(method: "GET" | "POST", target: string, limits: KeptLimits): Promise<KeptAnswer>;
  /** Idempotent. A request under way fails; the next one connects again. */
  close(): void;
}

export interface KeptConnectionOptions {
  /** Where the server is now; asked before each attempt to connect. A throw is the reason why it cannot be asked. */
  address(): NetConnectOpts;
  /** Closed after so long without a request. */
  readonly idleMs: number;
}

const MAX_HEAD_BYTES = 64 * 1024;
const READ_BYTES = 16 * 1024;

interface Exchange {
  /** Bytes before the end of the head. */
  head: Buffer | undefined;
  framing: BodyFraming | undefined;
  status: number;
  closes: boolean;
  readonly parts: Buffer[];
  size: number;
  readonly maxBytes: number;
  resolve(answer: KeptAnswer): void;
  reject(thrown: unknown): void;
}

/**
 * A console asks ten agents, and each its Envoy, all day long and seldom enough that nothing of it is ever hot: what one question costs is
 * how much code it passes through. node's client, a connection each time, took three quarters of that (bench/console).
 */
export function createKeptConnection({ address, idleMs }: KeptConnectionOptions): KeptConnection {
  let socket: Socket | undefined;
  let current: Exchange | undefined;
  const fail = (thrown: unknown) => {
    const failed = current;
    current = undefined;
    socket?.destroy();
    socket = undefined;
    failed?.reject(thrown);
  };
  const take = (exchange: Exchange, chunk: Buffer) => {
    if (exchange.framing !== undefined) return exchange.framing.push(chunk);
    exchange.head = exchange.head === undefined ? chunk : Buffer.concat([exchange.head, chunk]);
    const parsed = parseHead(exchange.head);
    if (parsed === "malformed") throw new Http1Error("bad-answer", "malformed HTTP response");
    if (parsed === "incomplete") {
      if (exchange.head.length > MAX_HEAD_BYTES) throw new Http1Error("bad-answer", "the answer's head is too large");
      // The buffer below is used again.
      exchange.head = Buffer.from(exchange.head);
      return;
    }
    exchange.status = parsed.status;
    const isFramed = parsed.headers.has("content-length") || parsed.headers.has("transfer-encoding");
    exchange.closes = !isFramed || /\bclose\b/i.test(parsed.headers.get("connection") ?? "");
    exchange.framing = createFraming(parsed, {
      data(bytes) {
        exchange.size += bytes.length;
        if (exchange.size > exchange.maxBytes) throw new Http1Error("too-large", "the answer is too large");
        exchange.parts.push(Buffer.from(bytes));
      },
      end() {
        if (current !== exchange) return;
        current = undefined;
        if (exchange.closes) {
          socket?.destroy();
          socket = undefined;
        }
        exchange.resolve({ status: exchange.status, body: Buffer.concat(exchange.parts, exchange.size).toString() });
      },
    });
    exchange.framing.push(exchange.head.subarray(parsed.length));
  };
  const open = (): Socket => {
    const opened = connect({
      ...address(),
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BYTES),
        callback(size, buffer) {
          if (socket !== opened) return false;
          try {
            // Nothing was asked: the next answer would not be found behind this.
            if (current === undefined) throw new Http1Error("bad-answer", "bytes that nobody asked for");
            take(current, (buffer as Buffer).subarray(0, size));
          } catch (thrown) {
            fail(thrown);
          }
          return true;
        },
      },
    });
    const ended = (thrown: unknown) => {
      if (socket === opened) fail(thrown);
    };
    opened.setTimeout(idleMs, () => ended(new Http1Error("timeout", `nothing came for ${idleMs} ms`)));
    opened.on("error", ended);
    opened.on("end", () => {
      if (socket === opened) current?.framing?.end();
      ended(new Http1Error("cut-off", "unexpected EOF"));
    });
    opened.on("close", () => ended(new Http1Error("cut-off", "the connection was closed")));
    return opened;
  };
  const send = (method: string, target: string, { maxBytes, timeoutMs }: KeptLimits): Promise<KeptAnswer> =>
    new Promise((resolve, reject) => {
      // Also a failure of the connection is one of this request.
      socket ??= open();
      const limit = setTimeout(() => fail(new Http1Error("timeout", `no answer within ${timeoutMs} ms`)), timeoutMs);
      current = {
        head: undefined,
        framing: undefined,
        status: 0,
        closes: false,
        parts: [],
        size: 0,
        maxBytes,
        resolve(answer) {
          clearTimeout(limit);
          resolve(answer);
        },
        reject(thrown) {
          clearTimeout(limit);
          reject(thrown);
        },
      };
      socket.write(`${method} ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`, "latin1");
    });
  return {
    get isBusy() {
      return current !== undefined;
    },
    async ask(method, target, limits) {
      if (current !== undefined) throw new Error("one request at a time");
      const wasOpen = socket !== undefined;
      try {
        return await send(method, target, limits);
      } catch (thrown) {
        // The server may have closed it since the last answer, or be another process by now.
        const isStale = wasOpen && !(thrown instanceof Http1Error && thrown.code !== "cut-off");
        if (!isStale || method !== "GET" || current !== undefined) throw thrown;
        return send(method, target, limits);
      }
    },
    close: () => fail(new Http1Error("cut-off", "closed")),
  };
}
