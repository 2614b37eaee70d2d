import { CodedError, errorCode, errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import type { Readiness } from "../base/readiness.ts";
import { joinHostPort } from "../net/host-port.ts";
import { type HttpLimits, startHttpServer } from "../net/http-server/start-http-server.ts";
import { registerEndpoints, type StatusActions } from "./endpoints.ts";
import { createStatusRoutes, readStatusPath, type StatusRoutes } from "./status-routes.ts";

export interface StatusServerOptions {
  readonly port: number;
  /** Addresses to listen on; by default one socket for both families. */
  readonly hosts?: readonly string[];
  readonly readiness: Readiness;
  readonly actions: StatusActions;
  /** False: generations without `/drain`. */
  readonly hasDrain?: boolean;
  /** False: generations that send every body uncompressed. */
  readonly compresses?: boolean;
  /** Instead of the usual ones. */
  readonly limits?: HttpLimits;
  readonly version: Readonly<Record<string, string>>;
  readonly log: Logger;
}

export interface StatusServer extends Handle {
  readonly port: number;
  /** Later parts add their paths here. */
  readonly route: StatusRoutes["route"];
}

export class StatusError extends CodedError<"address-in-use" | "cannot-listen"> {}

export const STATUS_LIMITS = {
  /** Requests to this port are a few hundred bytes. */
  headersMs: 10_000,
  requestMs: 10_000,
  /** Envoy keeps idle connections to this server for an hour: closing them under it would show as sporadic 503 on the health port. */
  keepAliveMs: 65 * 60_000,
  /** Longer than any answer takes, an application's probe included. */
  idleMs: 10 * 60_000,
  halfClosedMs: 6 * 60_000,
  /** Kubelet, Prometheus and Envoy have a handful. */
  maxConnections: 512,
} satisfies HttpLimits;

/** Listens until it is stopped, which the agent does last: readiness has to be answered all through the drain. */
export async function startStatusServer(options: StatusServerOptions): Promise<StatusServer> {
  const { log, hosts, port } = options;
  const routes = createStatusRoutes();
  registerEndpoints(routes, options);
  const server = await startHttpServer({
    listen: hosts?.map((host) => ({ host, port })) ?? [{ port }],
    handler: routes.handle,
    readPath: readStatusPath,
    encodes: options.compresses ?? true,
    limits: { ...STATUS_LIMITS, ...options.limits },
    log,
  }).catch((thrown: unknown) => {
    throw toStatusError(thrown, options);
  });
  log.info(`Opening status port ${server.port}`);
  return toHandle({
    port: server.port,
    route: routes.route,
    ended: server.ended,
    stop: async () => {
      await server.stop();
      log.info("Status server has successfully terminated");
    },
  });
}

function toStatusError(thrown: unknown, { hosts, port }: StatusServerOptions): StatusError {
  const cause = thrown instanceof Error ? (thrown.cause as NodeJS.ErrnoException & { address?: string }) : undefined;
  const isTaken = errorCode(thrown) === "address-in-use";
  const host = hosts === undefined ? "" : (cause?.address ?? "");
  const reason = isTaken ? "bind: address already in use" : errorMessage(cause ?? thrown);
  const where = `listen tcp ${joinHostPort(host, port)}`;
  const text = `Error listening on status port: ${where}: ${reason} (statusPort of the proxy configuration)`;
  return new StatusError(isTaken ? "address-in-use" : "cannot-listen", text, { cause: thrown });
}
