import { silentLogger } from "../../src/base/logger.ts";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { declareXdsProxyMetrics } from "../../src/xds-proxy/metrics.ts";
import { startXdsProxy } from "../../src/xds-proxy/start-xds-proxy.ts";

const [socketPath = "", address = ""] = process.argv.slice(2);
await startXdsProxy({
  socketPath,
  upstream: {
    address,
    headers: {},
    keepalive: { intervalMs: 20_000, timeoutMs: 10_000 },
    connectTimeoutMs: 5000,
    compression: true,
  },
  handlers: [],
  maxReceiveBytes: 64 * 1024 * 1024,
  maxStreams: 1000,
  downstreamKeepalive: { intervalMs: 30_000, timeoutMs: 10_000 },
  clusterId: "",
  metrics: declareXdsProxyMetrics(new MetricRegistry()),
  log: silentLogger,
});
process.send?.({ ready: true });
