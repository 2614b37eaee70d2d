import type { Socket } from "node:net";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { errorText, type HttpAnswer } from "../http-server/http-types.ts";
import { reasonPhrase } from "../http-status.ts";
import { untilAcceptFails } from "../listen/accept-failures.ts";
import { type ListenOptions, listen } from "../listen/listen.ts";

export interface SmallRequest {
  readonly method: string;
  /** As sent, with escapes and query. */
  readonly target: string;
  /** Names in lower case; of headers sent several times the first. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

export interface SmallServerOptions {
  readonly listen: ListenOptions;
  /** Must not reject. */
  answer(request: SmallRequest): Promise<HttpAnswer>;
  /** A connection without a byte for so long is closed. */
  readonly idleMs: number;
  readonly log: Pick<Logger, "warn">;
}

const MAX_HEAD_CHARACTERS = 16 * 1024;
const HEAD_END = "\r\n\r\n";

/**
 * HTTP/1.1 on bare sockets for short requests without a body, one after the other: the other end of `createKeptConnection`, and of curl.
 * For everything else there is `net/http-server`, through which one question of a console costs an agent as much as Envoy's answer to it
 * (bench/console).
 */
export async function startSmallServer({ listen: where, answer, idleMs, log }: SmallServerOptions): Promise<Handle> {
  const open = new Set<Socket>();
  const listener = await listen(where, (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.setTimeout(idleMs, () => socket.destroy());
    serve(socket, answer);
  });
  return toHandle({
    ended: untilAcceptFails([listener.server], log),
    async stop() {
      const closed = listener.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  });
}

function serve(socket: Socket, answer: SmallServerOptions["answer"]): void {
  let received = "";
  let isAnswering = false;
  const send = ({ status, contentType, headers = {}, body = "" }: HttpAnswer, closes: boolean) => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const type = contentType === undefined ? "" : `Content-Type: ${contentType}\r\n`;
    const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`;
    const head = `HTTP/1.1 ${status} ${reasonPhrase(status) ?? ""}\r\n${type}${lines.join("")}${length}${closes ? "Connection: close\r\n" : ""}\r\n`;
    // In one piece where it can be: a second write is a second system call, and a second wake of the reader.
    if (typeof body === "string") socket.write(head + body);
    else socket.write(Buffer.concat([Buffer.from(head, "latin1"), body]));
    if (closes) socket.end();
  };
  const next = () => {
    // Who does not read its answers gets no more of them.
    if (isAnswering || socket.destroyed || socket.writableEnded || socket.writableNeedDrain) return;
    const end = received.indexOf(HEAD_END);
    if (end === -1) return;
    const request = parseRequest(received.slice(0, end));
    received = received.slice(end + HEAD_END.length);
    if (request === undefined) return send(errorText(400, "malformed HTTP request"), true);
    const { headers } = request;
    if (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) !== 0)
      return send(errorText(413, "requests have no body here"), true);
    isAnswering = true;
    void answer(request).then((given) => {
      isAnswering = false;
      if (socket.destroyed) return;
      const closes = headers.connection?.toLowerCase() === "close";
      send(given, closes);
      if (!closes && received !== "") next();
    });
  };
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
    if (received.length <= MAX_HEAD_CHARACTERS) return next();
    received = "";
    send(errorText(431, "the head of the request is too large"), true);
  });
  socket.on("drain", next);
}

function parseRequest(head: string): SmallRequest | undefined {
  const [first = "", ...lines] = head.split("\r\n");
  const [, method, target] = /^([A-Z]+) (\/\S*) HTTP\/1\.[01]$/.exec(first) ?? [];
  if (method === undefined || target === undefined) return undefined;
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon <= 0) return undefined;
    headers[line.slice(0, colon).toLowerCase()] ??= line.slice(colon + 1).trim();
  }
  return { method, target, headers };
}
