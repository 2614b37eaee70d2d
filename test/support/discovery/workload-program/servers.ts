import { createServer, type IncomingMessage } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { httpAuthorizer, startGrpcAuthorizer } from "./authorizers.ts";
import { createCollector } from "./collectors.ts";
import type { BehaveRequest, Echo, ListenRequest } from "./protocol.ts";
import { acceptKey, readFrames, textFrame } from "./websocket-frames.ts";

interface Running {
  behaviour: BehaveRequest | undefined;
  failed: number;
  /** One entry per request: method and path of HTTP, the first bytes of TCP. */
  readonly seen: string[];
}

const running = new Map<number, Running>();

/** Applications of a workload: each answers with its own name and what it saw of the request. */
export async function listen(request: ListenRequest): Promise<void> {
  const state: Running = { behaviour: undefined, failed: 0, seen: [] };
  running.set(request.port, state);
  if (request.kind === "authorizer-grpc") {
    await startGrpcAuthorizer(request.port, request.name, state.seen);
    return;
  }
  const server = createApplication(request.kind, request, state);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(request.port, request.host ?? "0.0.0.0", resolve);
  });
}

export function behave(request: BehaveRequest): void {
  const state = stateOf(request.port);
  state.behaviour = request;
  state.failed = 0;
}

export function seen(port: number, forget: boolean): readonly string[] {
  const state = stateOf(port);
  return forget ? state.seen.splice(0) : [...state.seen];
}

function stateOf(port: number): Running {
  const state = running.get(port);
  if (state === undefined) throw new Error(`nothing listens on ${port}`);
  return state;
}

type Application = Exclude<ListenRequest["kind"], "authorizer-grpc">;

function createApplication(kind: Application, { name, tls = {} }: ListenRequest, state: Running): Server {
  switch (kind) {
    case "authorizer-http":
      return httpAuthorizer(name, state.seen);
    case "collector-grpc":
    case "collector-http":
      return createCollector(kind, state.seen);
    case "http":
    case "https": {
      const server = kind === "http" ? createServer() : createHttpsServer(tls);
      server.on("request", (request, response) => {
        const answer = respond(request, name, state);
        setTimeout(() => response.writeHead(answer.status, answer.headers).end(answer.body), answer.delayMs);
      });
      server.on("upgrade", (request: IncomingMessage, socket: Socket) => serveWebSocket(request, socket, name, state));
      return server;
    }
    case "http2":
    case "grpc": {
      const server = createHttp2Server();
      if (kind === "grpc") server.on("stream", (stream) => serveGrpc(stream, name, state));
      else {
        server.on("request", (request, response) => {
          const answer = respond(request, name, state);
          setTimeout(() => response.writeHead(answer.status, answer.headers).end(answer.body), answer.delayMs);
        });
      }
      return server;
    }
    case "tls":
      return createTlsServer(tls, (socket) => serveBytes(socket, name, state));
    case "server-first":
      return createTcpServer((socket) => void socket.on("error", () => undefined).end(`${name} greets\n`));
    case "tcp":
      return createTcpServer((socket) => serveBytes(socket, name, state));
  }
}

interface AnyRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly httpVersion: string;
  readonly headers: IncomingMessage["headers"];
}

/** `/status/NNN` answers NNN; otherwise what `behave` said, and 200 when it said nothing. */
function respond(request: AnyRequest, name: string, state: Running) {
  const { method = "", url = "", httpVersion, headers } = request;
  state.seen.push(`${method} ${url}`);
  const { status = 200, delayMs = 0, times = Number.POSITIVE_INFINITY } = state.behaviour ?? {};
  const isAffected = state.failed < times;
  if (isAffected) state.failed += 1;
  const asked = /^\/status\/(\d+)/.exec(url)?.[1];
  const echo: Echo = { name, method, path: url, protocol: `HTTP/${httpVersion}`, headers: plain(headers) };
  return {
    status: asked === undefined ? (isAffected ? status : 200) : Number(asked),
    delayMs: isAffected ? delayMs : 0,
    headers: { "content-type": "application/json", "x-served-by": name },
    body: state.behaviour?.body ?? JSON.stringify(echo),
  };
}

function plain(headers: IncomingMessage["headers"]): Echo["headers"] {
  return Object.fromEntries(Object.entries(headers).flatMap(([key, value]) => (value ? [[key, value] as const] : [])));
}

function serveWebSocket(request: IncomingMessage, socket: Socket, name: string, state: Running): void {
  state.seen.push(`UPGRADE ${request.url}`);
  const accept = acceptKey(String(request.headers["sec-websocket-key"]));
  socket.on("error", () => undefined);
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
  );
  let pending: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    const { texts, rest } = readFrames(Buffer.concat([pending, chunk]));
    pending = rest;
    for (const text of texts) socket.write(textFrame(`${name} ${text}`, false));
  });
}

function serveGrpc(stream: ServerHttp2Stream, name: string, state: Running): void {
  const chunks: Buffer[] = [];
  stream.on("error", () => undefined);
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("end", () => {
    const text = Buffer.concat(chunks).subarray(5).toString();
    state.seen.push(text);
    const body = Buffer.from(`${name} ${text}`);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.concat([head, body]));
  });
}

/** Answers each chunk with the name and the chunk, as text when it is text. */
function serveBytes(socket: Socket, name: string, state: Running): void {
  socket.on("error", () => undefined);
  socket.on("data", (chunk: Buffer) => {
    const text = /^[\x20-\x7e\r\n]*$/.test(chunk.toString("latin1")) ? chunk.toString() : `binary ${chunk[0]}`;
    state.seen.push(text);
    socket.write(`${name} ${text}`);
  });
}
