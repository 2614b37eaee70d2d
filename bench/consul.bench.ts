import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RealConsul, startConsul } from "../test/support/consul/start-consul.ts";
import type { Bench, BenchContext } from "./bench.ts";
import { startChild } from "./child.ts";
import { type CatalogSize, fillConsul, replaceInstance } from "./consul/fill-consul.ts";
import type { ProxiesAnswer, ProxiesRequest } from "./discovery/messages.ts";
import { startControlPlane } from "./discovery/server.ts";
import { processFigures } from "./process-figures.ts";

const SIZE: CatalogSize = { services: 5000, instances: 15, nodes: 500 };
const PROXIES = 10;
const CHANGES = 10;

/** A control plane fed by a real Consul of 5,000 services and 75,000 instances with a check each. */
const consulBench: Bench = {
  name: "consul",
  async run({ note, program }: BenchContext) {
    await using consul = await startConsul();
    note(`a catalog of ${SIZE.services} services and ${SIZE.services * SIZE.instances} instances is made`);
    await fillConsul(consul, SIZE);
    note(`start, ${PROXIES} proxies, ${CHANGES} instances replaced`);
    const folder = mkdtempSync(join(tmpdir(), "consul-bench-"));
    const flags = ["--registries=Consul", `--consulserverURL=${consul.url}`];
    await using server = await startControlPlane(program, folder, flags, { HOME: folder });
    const { cpuSeconds, memory } = processFigures(server.pid);
    const [readyCpuMs, ready, connections] = [cpuSeconds() * 1000, memory(), openConnections(consul)];
    await using child = await startChild("discovery/proxies.ts");
    const send = (request: ProxiesRequest) => child.process.send(request);
    send({ op: "connect", target: server.target, count: PROXIES, protocol: "delta", accepts: "gzip" });
    await child.next<ProxiesAnswer>();
    const times: number[] = [];
    const before = cpuSeconds();
    for (let at = 0; at < CHANGES; at += 1) {
      const address = `10.99.1.${at}`;
      send({ op: "expect", types: ["EDS"], text: address });
      await child.next<"ready">();
      const written = performance.timeOrigin + performance.now();
      await replaceInstance(consul, SIZE, at, address);
      times.push((await child.next<ProxiesAnswer>()).at - written);
    }
    times.sort((a, b) => a - b);
    const what = `${SIZE.services} services, ${SIZE.services * SIZE.instances} instances`;
    return [
      { name: `${what}: start to ready`, value: server.readyMs, unit: "ms" },
      { name: `${what}: CPU of the start`, value: readyCpuMs, unit: "ms" },
      { name: `${what}: private memory when ready`, value: ready.anonymous, unit: "MB" },
      { name: `${what}: peak RSS`, value: memory().peakRss, unit: "MB" },
      { name: `${what}: connections to Consul`, value: connections, unit: "", goal: "<= 20" },
      { name: `${what}: change to the last of ${PROXIES} proxies, p50`, value: times[CHANGES >> 1] ?? 0, unit: "ms" },
      { name: `${what}: the slowest`, value: times.at(-1) ?? 0, unit: "ms" },
      { name: `${what}: CPU of a change`, value: ((cpuSeconds() - before) * 1000) / CHANGES, unit: "ms" },
    ];
  },
};

export default consulBench;

const ESTABLISHED = "01";

/** Of this machine to Consul's port. */
function openConnections({ url }: RealConsul): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, "0");
  const rows = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1);
  const columns = rows.map((row) => row.trim().split(/\s+/));
  return columns.filter(([, , remote, state]) => remote?.endsWith(`:${port}`) && state === ESTABLISHED).length;
}
