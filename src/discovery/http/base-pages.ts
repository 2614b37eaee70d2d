import { errorCode, errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import type { MetricRegistry } from "../../base/metric-registry.ts";
import type { AnswerOptions } from "../../net/http-server/answer-exchange.ts";
import { text } from "../../net/http-server/http-types.ts";
import { createRouteTable, type RouteTable } from "../../net/http-server/route-table.ts";
import { type HttpServer, type HttpServerOptions, startHttpServer } from "../../net/http-server/start-http-server.ts";
import type { PortOption } from "../../settings/discovery-settings.ts";
import { DiscoveryError } from "../discovery-error.ts";

const IDLE_MS = 90_000;
const READ_MS = 30_000;
const LIMITS = { keepAliveMs: IDLE_MS, requestMs: READ_MS, silenceMs: READ_MS, halfClosedMs: IDLE_MS };

export interface BasePagesOptions {
  /** Why the server is not ready; empty when it is. */
  readonly notReady: () => string;
  /** What a server that is ready does not know, a line for each thing. */
  readonly details?: () => readonly string[];
  readonly registry: MetricRegistry;
  /** The process's own figures as Prometheus text. */
  readonly processMetrics: () => string;
  /** One line of text. */
  readonly version: string;
}

/** `/ready`, `/metrics` and `/version`. */
export function createBasePages(options: BasePagesOptions): RouteTable {
  const table = createRouteTable();
  table.route("*", "/ready", () => {
    const reason = options.notReady();
    return reason === "" ? text(200, ["ready", ...(options.details?.() ?? [])].join("\n")) : text(503, reason);
  });
  table.route("*", "/metrics", () => ({
    status: 200,
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    body: options.registry.render() + options.processMetrics(),
  }));
  table.route("*", "/version", () => text(200, options.version));
  return table;
}

export function pagesOf(table: RouteTable, log: Logger): AnswerOptions {
  return { handler: table.handle, headers: { "X-Content-Type-Options": "nosniff" }, log };
}

/** Rejects with a DiscoveryError when the address cannot be bound. */
export async function servePages(
  pages: AnswerOptions,
  port: PortOption,
  more: Pick<HttpServerOptions, "onHttp2"> = {},
): Promise<HttpServer> {
  try {
    return await startHttpServer({ ...pages, ...more, listen: [port], limits: LIMITS });
  } catch (thrown) {
    const code = errorCode(thrown) === "address-in-use" ? "address-in-use" : "cannot-listen";
    throw new DiscoveryError(code, errorMessage(thrown), { cause: thrown });
  }
}
