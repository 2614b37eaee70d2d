import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { silentLogger } from "../../src/base/logger.ts";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { createReadiness } from "../../src/base/readiness.ts";
import { createMetricsHandler } from "../../src/status/metrics/metrics-handler.ts";
import { declareScrapeMetrics } from "../../src/status/metrics.ts";
import { startStatusServer } from "../../src/status/start-status-server.ts";

/** `merge` or `pipe`, the sources' port, bytes of Envoy and of the application. */
const [mode, sources = "", envoyBytes = "", appBytes = ""] = process.argv.slice(2);
/** Enough to have all code loaded and compiled, and little memory used. */
const WARM_BYTES = "600000";
const registry = new MetricRegistry();

if (mode === "merge") {
  const server = await startStatusServer({
    port: 0,
    hosts: ["127.0.0.1"],
    readiness: createReadiness(silentLogger),
    actions: { drain: async () => undefined, quit: () => undefined },
    version: {},
    log: silentLogger,
  });
  const metrics = declareScrapeMetrics(registry);
  const handlerOf = (bytes: string) =>
    createMetricsHandler({
      envoy: { host: "127.0.0.1", port: Number(sources) },
      targets: [{ port: Number(sources), path: `/metrics?bytes=${bytes}` }],
      passesQuery: true,
      agentText: () => registry.render(),
      metrics,
      log: silentLogger,
    });
  server.route("*", "/metrics", handlerOf(appBytes));
  server.route("*", "/warm", handlerOf(WARM_BYTES));
  process.send?.({ port: server.port });
} else {
  // The baseline: the same bytes through the same HTTP library, one body after the other, nobody looking at them.
  const server = createServer(async (incomingRequest, response) => {
    const isWarm = incomingRequest.url?.startsWith("/warm");
    const [envoy, app] = isWarm ? [WARM_BYTES, WARM_BYTES] : [envoyBytes, appBytes];
    for (const path of [`/stats/prometheus?bytes=${envoy}`, `/metrics?bytes=${app}`]) {
      await new Promise<void>((done) => {
        request({ host: "127.0.0.1", port: Number(sources), path, agent: false }, (incoming) => {
          incoming.pipe(response, { end: false });
          incoming.on("end", done);
        }).end();
      });
    }
    response.end();
  });
  server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
}
