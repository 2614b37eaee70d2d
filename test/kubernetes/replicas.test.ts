import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type AgentProcess, startAgentProcess } from "../support/agent/agent-process.ts";
import { kubeService, kubeSlice } from "../support/discovery/kubernetes-objects.ts";
import { type DiscoveryProcess, startDiscoveryProcess } from "../support/discovery/process.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { ruleDefinitions } from "../support/kubernetes/rule-definitions.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { startBalancingProxy } from "../support/net/balancing-proxy.ts";
import { fetchAnswer } from "../support/net/fetch-answer.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";

const NAMES = ["a", "b", "c"];
const AGENTS = ["one", "two"];
const CLUSTER = "outbound|80||web.prod.svc.cluster.local";

const manifests = (...objects: readonly object[]) => objects as readonly Manifest[];

/** Three control planes of one API server behind one address, and real agents with Envoy that are configured through it. */
const place = sharedPlace(["kubernetes", "envoy"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const account = (name: string) => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: "ns" } });
  await kubernetes.apply(manifests(namespace("istio-system"), namespace("prod"), namespace("ns")));
  await kubernetes.apply(manifests(...AGENTS.map(account)));
  await kubernetes.apply(
    manifests(kubeService("web", { clusterIP: "10.96.0.77" }), kubeSlice("web", [{ address: "10.0.0.1" }])),
  );
  const replicas = await Promise.all(
    NAMES.map(async (name) => {
      const [http = 0, grpc = 0, secureGrpc = 0, monitoring = 0] = await freePorts(4);
      return startDiscoveryProcess({
        ports: { host: "127.0.0.1", http, grpc, secureGrpc, monitoring },
        files: {},
        args: [`--kubeconfig=${kubernetes.kubeconfig}`],
        env: { POD_NAME: name, POD_NAMESPACE: "istio-system", ISTIOD_CUSTOM_HOST: "localhost" },
        isReady: async () => (await fetchAnswer(`http://127.0.0.1:${http}/ready`)).status === 200,
      });
    }),
  );
  for (const replica of replicas) opened.add(replica);
  const front = opened.add(await startBalancingProxy(replicas.map(({ ports }) => ports.secureGrpc)));
  const rootFile = join(kubernetes.folder, "root-cert.pem");
  await until("the roots are in the namespace", async () => {
    const path = "/api/v1/namespaces/ns/configmaps/istio-ca-root-cert";
    const { status, body } = await kubernetes.api.ask({ path });
    if (status !== 200) return false;
    writeFileSync(rootFile, (JSON.parse(body) as { data: Record<string, string> }).data["root-cert.pem"] ?? "");
    return true;
  });
  const token = (of: string, name: string) =>
    kubernetes.token({ namespace: of, account: name, audiences: ["istio-ca"] });
  const agents = await Promise.all(
    AGENTS.map((name) => startAgentProcess({ name, controlPlane: { port: front.port, rootFile, token } })),
  );
  for (const agent of agents) opened.add(agent);
  await Promise.all(agents.map((agent) => agent.untilReady()));
  return { kubernetes, replicas, agents };
});

/** What Envoy itself would call. */
async function endpointsOf(agent: AgentProcess): Promise<readonly string[]> {
  const { body } = await agent.get("admin", "/clusters");
  const found = body
    .split("\n")
    .flatMap((line) => (line.startsWith(`${CLUSTER}::`) ? (line.split("::")[1] ?? []) : []));
  return [...new Set(found.filter((address) => /^\d+\.\d+\.\d+\.\d+:\d+$/.test(address)))];
}

const move = (address: string) => place().kubernetes.apply(manifests(kubeSlice("web", [{ address }])));

async function everywhere(address: string): Promise<void> {
  for (const agent of place().agents)
    await until(`${address} is in every Envoy`, async () =>
      expect(await endpointsOf(agent)).toEqual([`${address}:8080`]),
    );
}

/** Endpoints move, and every Envoy is looked at, until stopped; resolves with the last address. */
function startChanges(block: number) {
  let isOver = false;
  let at = 0;
  let address = "";
  const bare: string[] = [];
  const run = async () => {
    while (!isOver) {
      at += 1;
      address = `10.0.${block}.${at % 250}`;
      await move(address);
      for (const agent of place().agents) {
        const shown = await endpointsOf(agent);
        if (shown.length !== 1) bare.push(`${shown.length} endpoints after change ${at}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const running = run();
  return {
    bare,
    async stop(): Promise<string> {
      isOver = true;
      await running;
      return address;
    },
  };
}

/** Each controller has a lease of its own; this one is for the roots in all namespaces. */
const LEASE = "istio-namespace-controller-election";

const holder = async () => {
  const path = `/apis/coordination.k8s.io/v1/namespaces/istio-system/leases/${LEASE}`;
  const { spec } = (await place().kubernetes.api.json({ path })) as { spec: { holderIdentity?: string } };
  return spec.holderIdentity ?? "";
};

/** When a replica wrote to the cluster: from and to where it said so, or to its end. */
interface Reign {
  readonly from: number;
  readonly to: number;
}

function reignsOf(replica: DiscoveryProcess): readonly Reign[] {
  const lines = replica.output().split("\n");
  const times = (text: string) =>
    lines
      .filter((line) => line.includes(text) && line.includes(LEASE))
      .map((line) => Date.parse(line.split("\t")[0] ?? ""));
  const ended = [
    ...times("another replica writes to the cluster"),
    ...(endings.get(replica) ?? []),
    Number.POSITIVE_INFINITY,
  ];
  return times("this replica writes to the cluster from now on").map((from) => ({
    from,
    to: Math.min(...ended.filter((time) => time >= from)),
  }));
}

const rootOf = async () => {
  const path = "/api/v1/namespaces/istio-system/secrets/istio-ca-secret";
  return ((await place().kubernetes.api.json({ path })) as { data: Record<string, string> }).data["root-cert.pem"];
};

/** Ends a control plane and starts it again; what it wrote until then it wrote as the only one. */
async function restart(replica: DiscoveryProcess, signal: NodeJS.Signals): Promise<void> {
  endings.set(replica, [...(endings.get(replica) ?? []), Date.now()]);
  await replica.restart(signal);
}
const endings = new Map<DiscoveryProcess, readonly number[]>();

/** Milliseconds from the end of a write with kubectl until Envoy shows it: of the first write in time, as a busy machine spoils some. */
async function fastest(write: (at: number) => object, isShown: (at: number) => Promise<boolean>): Promise<number> {
  const times: number[] = [];
  for (let at = 1; at <= 15 && !times.some((time) => time < 1000); at += 1) {
    const object = JSON.stringify(write(at));
    await place().kubernetes.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], object);
    const since = performance.now();
    await until(`write ${at} is in Envoy`, () => isShown(at));
    times.push(performance.now() - since);
  }
  return Math.min(...times);
}

test("services, slices and rules that kubectl writes are in a real Envoy within a second", async () => {
  const { kubernetes, agents } = place();
  const [agent] = agents as [AgentProcess, ...AgentProcess[]];
  const shows = async (path: string, text: string) => (await agent.get("admin", path)).body.includes(text);
  await kubernetes.apply(ruleDefinitions(["VirtualService"]));
  const service = (at: number) => kubeService(`shop-${at}`, { clusterIP: `10.96.1.${at}` });
  expect(
    await fastest(service, (at) => shows("/clusters", `outbound|80||shop-${at}.prod.svc.cluster.local::`)),
  ).toBeLessThan(1000);
  const slice = (at: number) => kubeSlice("shop-1", [{ address: `10.9.0.${at}` }]);
  expect(
    await fastest(slice, (at) => shows("/clusters", `outbound|80||shop-1.prod.svc.cluster.local::10.9.0.${at}:8080::`)),
  ).toBeLessThan(1000);
  const rule = (at: number) => ({
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "shop", namespace: "prod" },
    spec: { hosts: ["shop-1"], http: [{ timeout: `${at}.5s`, route: [{ destination: { host: "shop-1" } }] }] },
  });
  const routes = "/config_dump?resource=dynamic_route_configs";
  expect(await fastest(rule, (at) => shows(routes, `"timeout": "${at}.500s"`))).toBeLessThan(1000);
});

test("the control plane that holds the lease is killed under changes: no Envoy is without its endpoint, and no change is lost", async () => {
  const { replicas } = place();
  await everywhere("10.0.0.1");
  await until("one holds the lease", async () => (await holder()) !== "");
  const changes = startChanges(1);
  const first = await holder();
  const victim = replicas[NAMES.findIndex((name) => first.startsWith(name))];
  if (victim === undefined) throw new Error(`${first} is not a replica`);
  await restart(victim, "SIGKILL");
  await everywhere(await changes.stop());
  expect(changes.bare).toEqual([]);
});

test("all control planes are restarted in turn under changes: no Envoy is without its endpoint, no change is lost, the root stays", async () => {
  const { replicas, agents } = place();
  const root = await rootOf();
  const changes = startChanges(2);
  for (const replica of replicas) await restart(replica, "SIGTERM");
  await everywhere(await changes.stop());
  expect(changes.bare).toEqual([]);
  expect(await rootOf()).toBe(root);
  await Promise.all(agents.map((agent) => agent.untilReady()));
});

test("one control plane at a time wrote to the cluster", async () => {
  const { replicas } = place();
  await until("one holds the lease", async () => (await holder()) !== "");
  const reigns = replicas.flatMap(reignsOf).sort((a, b) => a.from - b.from);
  expect(reigns.length).toBeGreaterThan(1);
  const overlaps = reigns.filter(({ from }, at) => reigns.slice(0, at).some((before) => before.to > from));
  expect(overlaps).toEqual([]);
});
