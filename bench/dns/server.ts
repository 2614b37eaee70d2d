import { setImmediate as nextTurn } from "node:timers/promises";
import { isMainThread } from "node:worker_threads";
import { silentLogger } from "../../src/base/logger.ts";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { declareDnsMetrics } from "../../src/dns/metrics.ts";
import { startDnsServer } from "../../src/dns/start-dns-server.ts";
import { WORKER_URL } from "../../src/dns/worker-entry.ts";
import type { NameInfo } from "../../src/xds/name-table.ts";

/** The DNS server with a table of services; upstream is another child on the address given. Its threads run this same file. */
if (isMainThread) await main(process.argv.slice(2));

async function main([resolvConfPath = "", upstreamPort = "53", services = "1000", threads = "1"]: string[]) {
  let threadsServing = 1;
  const log = {
    ...silentLogger,
    info: (message: string) => {
      if (message === "DNS thread serves") threadsServing++;
    },
  };
  const server = await startDnsServer({
    listen: "127.0.0.1:0",
    proxyNamespace: "ns1",
    proxyDomain: "ns1.svc.cluster.local",
    resolvConfPath,
    upstreamPort: Number(upstreamPort),
    threads: Number(threads),
    workerUrl: WORKER_URL,
    log,
    metrics: declareDnsMetrics(new MetricRegistry()),
  });
  const table: Record<string, NameInfo> = {};
  for (let index = 0; index < Number(services); index++) {
    const ips = [`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`];
    table[`svc${index}.ns1.svc.cluster.local`] = {
      ips,
      registry: "Kubernetes",
      shortname: `svc${index}`,
      namespace: "ns1",
    };
  }
  const began = performance.now();
  server.updateNameTable({ table });
  while (server.notReadyReason() !== undefined) await nextTurn();
  const tableMs = performance.now() - began;
  while (threadsServing < Number(threads)) await nextTurn();
  process.send?.({ port: server.addresses[0]?.port, tableMs });
}
