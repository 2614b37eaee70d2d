import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { DiscoveryError } from "../discovery-error.ts";
import { type HttpAnswer, type HttpCall, type HttpHandler, HttpProblem, text } from "./http-types.ts";

export interface HttpServerOptions {
  /** Empty: every address. */
  readonly host: string;
  readonly port: number;
  /** By path; one that ends in `/` takes everything below it, the longest wins. */
  readonly routes: ReadonlyMap<string, HttpHandler>;
  readonly log: Logger;
}

export interface HttpServer extends Handle {
  readonly address: { readonly host: string; readonly port: number };
}

const IDLE_MS = 90_000;
const READ_MS = 30_000;
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** Rejects with a DiscoveryError when the address cannot be taken. */
export async function startHttpServer({ host, port, routes, log }: HttpServerOptions): Promise<HttpServer> {
  const server = createServer({ keepAliveTimeout: IDLE_MS, requestTimeout: READ_MS }, (request, response) => {
    void answer(request, response, routes, log);
  });
  await listen(server, host, port);
  const bound = server.address() as AddressInfo;
  return toHandle({
    address: { host: bound.address, port: bound.port },
    ended: new Promise<void>((_resolve, reject) => void server.on("error", reject)),
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  routes: ReadonlyMap<string, HttpHandler>,
  log: Logger,
): Promise<void> {
  const call = toCall(request);
  let given: HttpAnswer;
  try {
    const handler = call === undefined ? undefined : find(routes, call.path);
    given = call === undefined || handler === undefined ? text(404, "404 page not found") : await handler(call);
  } catch (thrown) {
    if (!(thrown instanceof HttpProblem)) {
      log.error("request failed", { path: call?.path, error: errorMessage(thrown) });
    }
    given = thrown instanceof HttpProblem ? text(thrown.status, thrown.message) : text(500, "Internal Server Error");
  }
  if (response.destroyed) return;
  const body = Buffer.from(given.body);
  response.writeHead(given.status, {
    ...(given.contentType === undefined ? {} : { "Content-Type": given.contentType }),
    "X-Content-Type-Options": "nosniff",
    "Content-Length": body.length,
    ...given.headers,
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

function toCall(request: IncomingMessage): HttpCall | undefined {
  const target = request.url ?? "/";
  if (!URL.canParse(target, "http://localhost")) return undefined;
  const url = new URL(target, "http://localhost");
  return {
    method: request.method ?? "GET",
    path: url.pathname,
    query: url.searchParams,
    headers: flatten(request.headers),
    peerAddress: request.socket.remoteAddress ?? "",
    body: () => readBody(request),
  };
}

function find(routes: ReadonlyMap<string, HttpHandler>, path: string): HttpHandler | undefined {
  const exact = routes.get(path);
  if (exact !== undefined) return exact;
  const [longest] = [...routes.keys()]
    .filter((route) => route.endsWith("/") && path.startsWith(route))
    .sort((a, b) => b.length - a.length);
  return longest === undefined ? undefined : routes.get(longest);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > MAX_BODY_BYTES) throw new HttpProblem(413, `the body is larger than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function flatten(headers: IncomingMessage["headers"]): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value]),
  );
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (thrown) => {
      const code = errorCode(thrown) === "EADDRINUSE" ? "address-in-use" : "cannot-listen";
      const shown = `${host.includes(":") ? `[${host}]` : host}:${port}`;
      reject(new DiscoveryError(code, `cannot listen on ${shown}: ${errorMessage(thrown)}`, { cause: thrown }));
    });
    server.listen({ port, ...(host === "" ? {} : { host }) }, () => {
      server.removeAllListeners("error");
      resolve();
    });
  });
}
