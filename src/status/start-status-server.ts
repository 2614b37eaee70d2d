import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { CodedError, errorCode, errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { answerHalfClosed } from "../net/answer-half-closed.ts";
import { registerEndpoints, type StatusActions } from "./endpoints.ts";
import type { Readiness } from "./readiness.ts";
import { createRouter, type Router } from "./router.ts";

export interface StatusServerOptions {
  readonly port: number;
  /** Addresses to listen on; by default one socket for both families. */
  readonly hosts?: readonly string[];
  readonly readiness: Readiness;
  readonly actions: StatusActions;
  /** False: generations that know no `/drain`. */
  readonly hasDrain?: boolean;
  /** False: generations that send every body as it is. */
  readonly packs?: boolean;
  /** How long a client that closed its half of the connection is waited for with an answer. */
  readonly halfClosedMs?: number;
  readonly version: Readonly<Record<string, string>>;
  readonly log: Logger;
}

export interface StatusServer extends Handle {
  readonly port: number;
  /** Later parts add their paths here. */
  readonly route: Router["route"];
}

export class StatusError extends CodedError<"address-in-use" | "cannot-listen"> {}

/** Longer than any page takes; a profile may take five minutes. */
const HALF_CLOSED_MS = 360_000;

/** Listens until it is stopped, which the agent does last: readiness has to be answered all through the drain. */
export async function startStatusServer(options: StatusServerOptions): Promise<StatusServer> {
  const { log, hosts } = options;
  const router = createRouter(log);
  registerEndpoints(router, options);
  const servers: Server[] = [];
  const close = async () => {
    await Promise.all(servers.map(closeServer));
  };
  let port = options.port;
  try {
    for (const host of hosts ?? [undefined]) {
      const server = createHttpServer(router, options);
      servers.push(server);
      port = await listen(server, port, host);
    }
  } catch (thrown) {
    await close();
    throw thrown;
  }
  log.info(`Opening status port ${port}`);
  return toHandle({
    port,
    route: router.route,
    ended: new Promise<void>((_resolve, reject) => {
      for (const server of servers) server.on("error", reject);
    }),
    stop: async () => {
      await close();
      log.info("Status server has successfully terminated");
    },
  });
}

function createHttpServer(
  router: Router,
  { packs = true, halfClosedMs = HALF_CLOSED_MS }: StatusServerOptions,
): Server {
  const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0 }, (request, response) => {
    if (packs) response.setHeader("Vary", "Accept-Encoding");
    else delete request.headers["accept-encoding"];
    router.handle(request, response);
  });
  // Envoy keeps idle connections to this server: closing them under it would show as sporadic 503 on the health port.
  server.headersTimeout = 0;
  server.timeout = 0;
  answerHalfClosed(server, halfClosedMs);
  return server;
}

function listen(server: Server, port: number, host: string | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (thrown) => reject(toStatusError(thrown, port, host)));
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
      server.removeAllListeners("error");
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function toStatusError(thrown: unknown, port: number, host: string | undefined): StatusError {
  const address = `${host?.includes(":") ? `[${host}]` : (host ?? "")}:${port}`;
  const cause = { cause: thrown };
  if (errorCode(thrown) === "EADDRINUSE") {
    const text = `Error listening on status port: listen tcp ${address}: bind: address already in use (statusPort of the proxy configuration)`;
    return new StatusError("address-in-use", text, cause);
  }
  const text = `Error listening on status port: listen tcp ${address}: ${errorMessage(thrown)} (statusPort of the proxy configuration)`;
  return new StatusError("cannot-listen", text, cause);
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
