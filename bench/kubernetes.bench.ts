import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ruleDefinitions } from "../test/support/kubernetes/rule-definitions.ts";
import { type Kubernetes, startKubernetes } from "../test/support/kubernetes/start-kubernetes.ts";
import type { Bench, BenchContext, BenchRow } from "./bench.ts";
import { startChild } from "./child.ts";
import type { ProxiesAnswer, ProxiesRequest } from "./discovery/messages.ts";
import { startControlPlane } from "./discovery/server.ts";
import { type ClusterSize, fillCluster, moveEndpoint } from "./kubernetes/fill-cluster.ts";
import { processFigures } from "./process-figures.ts";

const SIZE: ClusterSize = { namespaces: 10, services: 1000, endpoints: 10 };
const PROXIES = 100;
const CHANGES = 100;
/** Each of them waits for the lists of the API server and for its own start. */
const STARTS = 3;

interface Figures {
  readonly readyMs: number;
  readonly readyCpuMs: number;
  readonly idlePrivate: number;
  readonly private: number;
  readonly peakRss: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly changeCpuMs: number;
}

/** A control plane fed by a real API server. PEER is a program with istiod's flags; it reads the same API server afterwards. */
const kubernetes: Bench = {
  name: "kubernetes",
  async run({ note, program, peer }: BenchContext) {
    await using cluster = await startKubernetes();
    await cluster.apply(ruleDefinitions());
    note(`a cluster of ${SIZE.services} services and ${SIZE.services * SIZE.endpoints} pods is made`);
    await fillCluster(cluster.api, SIZE);
    note(`${STARTS} starts, ${CHANGES} slice changes to ${PROXIES} proxies`);
    const ours = await measure(cluster, program, 1);
    if (peer === undefined) return rows(ours, undefined);
    note("the same by PEER");
    return rows(ours, await measure(cluster, peer, 2));
  },
};

export default kubernetes;

function start(cluster: Kubernetes, program: string) {
  const folder = mkdtempSync(join(tmpdir(), "kubernetes-bench-"));
  const env = { CLUSTER_ID: "Kubernetes", POD_NAME: "bench-0", HOME: folder };
  return startControlPlane(program, folder, [`--kubeconfig=${cluster.kubeconfig}`], env);
}

async function measure(cluster: Kubernetes, program: string, run: number): Promise<Figures> {
  const starts: { readonly ms: number; readonly cpuMs: number }[] = [];
  for (let at = 1; at < STARTS; at += 1) {
    await using server = await start(cluster, program);
    starts.push({ ms: server.readyMs, cpuMs: processFigures(server.pid).cpuSeconds() * 1000 });
  }
  await using server = await start(cluster, program);
  const { cpuSeconds, memory } = processFigures(server.pid);
  starts.push({ ms: server.readyMs, cpuMs: cpuSeconds() * 1000 });
  const idlePrivate = memory().anonymous;
  await using child = await startChild("discovery/proxies.ts");
  const send = (request: ProxiesRequest) => child.process.send(request);
  const now = () => performance.timeOrigin + performance.now();
  send({ op: "connect", target: server.target, count: PROXIES, protocol: "delta", accepts: "gzip" });
  await child.next<ProxiesAnswer>();
  const times: number[] = [];
  const cpuBefore = cpuSeconds();
  for (let at = 0; at < CHANGES; at += 1) {
    const address = `10.99.${run}.${at}`;
    send({ op: "expect", types: ["EDS"], text: address });
    await child.next<"ready">();
    const written = now();
    await moveEndpoint(cluster.api, SIZE, address);
    times.push((await child.next<ProxiesAnswer>()).at - written);
  }
  times.sort((a, b) => a - b);
  const { anonymous, peakRss } = memory();
  return {
    readyMs: middle(starts.map(({ ms }) => ms)),
    readyCpuMs: middle(starts.map(({ cpuMs }) => cpuMs)),
    idlePrivate,
    private: anonymous,
    peakRss,
    p50Ms: times[Math.floor(times.length / 2)] ?? Number.NaN,
    p99Ms: times[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN,
    changeCpuMs: ((cpuSeconds() - cpuBefore) * 1000) / CHANGES,
  };
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const HALF = "<= 0.5 x istiod";
const LINES: readonly (readonly [keyof Figures, string, string, string?])[] = [
  ["readyMs", "start to ready", "ms", HALF],
  ["readyCpuMs", "CPU of the start", "ms"],
  ["idlePrivate", "private memory when ready", "MB", HALF],
  ["private", `private memory with ${PROXIES} proxies`, "MB", HALF],
  ["peakRss", "peak RSS", "MB"],
  ["p50Ms", "slice change to the last proxy, p50", "ms"],
  ["p99Ms", "slice change to the last proxy, p99", "ms", "<= 150"],
  ["changeCpuMs", "CPU of a change", "ms"],
];

function rows(figures: Figures, peer: Figures | undefined): readonly BenchRow[] {
  return LINES.map(([key, name, unit, goal]) => ({
    name: `${SIZE.services} services, ${SIZE.services * SIZE.endpoints} pods: ${name}`,
    value: figures[key],
    unit,
    ...(goal !== undefined && { goal }),
    ...(peer !== undefined && { ratio: { to: "PEER", value: figures[key] / peer[key] } }),
  }));
}
