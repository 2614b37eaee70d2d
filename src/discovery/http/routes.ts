import type { MetricRegistry } from "../../base/metric-registry.ts";
import { type ConfigApiOptions, createConfigApi } from "./config-api.ts";
import { createDebugHandler, type DebugPagesOptions } from "./debug-pages.ts";
import { type HttpHandler, text } from "./http-types.ts";

export interface RouteOptions extends DebugPagesOptions, ConfigApiOptions {
  /** Why the server is not ready; empty when it is. */
  readonly notReady: () => string;
  readonly registry: MetricRegistry;
  /** The process's own figures as Prometheus text. */
  readonly processMetrics: () => string;
  /** One line of text. */
  readonly version: string;
  readonly debugOverHttp: boolean;
}

/** What the HTTP and the monitoring port answer; both have everything, as tools look on either. */
export function createRoutes(options: RouteOptions): ReadonlyMap<string, HttpHandler> {
  const routes = new Map<string, HttpHandler>();
  routes.set("/ready", () => {
    const reason = options.notReady();
    return reason === "" ? text(200, "ready") : text(503, reason);
  });
  routes.set("/metrics", () => ({
    status: 200,
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    body: options.registry.render() + options.processMetrics(),
  }));
  routes.set("/version", () => text(200, options.version));
  if (options.debugOverHttp) {
    const debug = createDebugHandler(options);
    routes.set("/debug", debug);
    routes.set("/debug/", debug);
  }
  const config = createConfigApi(options);
  routes.set("/config", config);
  routes.set("/config/", config);
  return routes;
}
