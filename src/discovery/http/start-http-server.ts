import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { answerHalfClosed } from "../../net/answer-half-closed.ts";
import { DiscoveryError } from "../discovery-error.ts";
import { answerCall, answerHeaders, type Routes, toCall } from "./answer-call.ts";
import { splitProtocols } from "./split-protocols.ts";

export interface HttpServerOptions {
  /** Empty: every address. */
  readonly host: string;
  readonly port: number;
  readonly routes: Routes;
  /** Takes connections that speak HTTP/2 from their first byte on, and owns them from then; without it there is HTTP/1 alone. */
  readonly onHttp2?: (socket: Socket) => void;
  readonly log: Logger;
}

export interface HttpServer extends Handle {
  readonly address: { readonly host: string; readonly port: number };
}

const IDLE_MS = 90_000;
const READ_MS = 30_000;

/** Rejects with a DiscoveryError when the address cannot be taken. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port, routes, onHttp2, log } = options;
  const server = createServer({ keepAliveTimeout: IDLE_MS, requestTimeout: READ_MS }, (request, response) => {
    void answer(request, response, routes, log);
  });
  answerHalfClosed(server, IDLE_MS);
  const dropWaiting = onHttp2 === undefined ? () => undefined : splitProtocols(server, onHttp2, READ_MS);
  await listen(server, host, port);
  const bound = server.address() as AddressInfo;
  return toHandle({
    address: { host: bound.address, port: bound.port },
    ended: new Promise<void>((_resolve, reject) => void server.on("error", reject)),
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        dropWaiting();
      }),
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, routes: Routes, log: Logger): Promise<void> {
  const { method, url: target, headers, socket } = request;
  const call = toCall({ method, target, headers, peerAddress: socket.remoteAddress, body: request });
  const given = await answerCall(call, routes, log);
  if (response.destroyed) return;
  const body = Buffer.from(given.body);
  // The rest of a body that nobody read would be taken for the next request, or hold it up.
  if (!request.complete) response.setHeader("Connection", "close");
  response.writeHead(given.status, answerHeaders(given, body.length));
  response.end(method === "HEAD" ? undefined : body);
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
