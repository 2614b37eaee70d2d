import { CloseStack } from "../src/base/close-stack.ts";
import { createFabric } from "../test/support/discovery/fabric.ts";
import { type DiscoveryMesh, startDiscoveryMesh } from "../test/support/discovery/mesh.ts";
import { documents, hostOf, ruleObject, serviceEntry } from "../test/support/discovery/rules.ts";
import { bundleWorkload, startWorkload } from "../test/support/discovery/workload.ts";
import { runEnvoy } from "../test/support/envoy/run-envoy.ts";
import { until } from "../test/support/wait/until.ts";
import type { Bench, BenchRow } from "./bench.ts";
import { measureBesidePeer } from "./telemetry/beside-peer.ts";
import { measureRound, type Round } from "./telemetry/measure-round.ts";

/** Many short rounds, each way in turn: what else the machine does then falls on all of them. */
const ROUNDS = 15;
const VIP = "10.96.0.10";
const [CLIENT, WEB, COLLECTOR] = ["10.10.1.1", "10.10.2.1", "10.10.3.1"];

/** What the sidecars are told before a round; their listeners show when they have heard it. */
interface Way {
  readonly name: string;
  readonly telemetry: object | undefined;
  isInForce(listeners: string): boolean;
}

const counts = (listeners: string) => listeners.includes("access_loggers.stats");
const traces = (listeners: string) => listeners.includes("ZipkinConfig");
const METRICS = { metrics: [{ providers: [{ name: "prometheus" }] }] };
const WAYS: readonly Way[] = [
  { name: "telemetry off", telemetry: undefined, isInForce: (text) => !counts(text) && !traces(text) },
  { name: "metrics", telemetry: METRICS, isInForce: (text) => counts(text) && !traces(text) },
  {
    name: "metrics and traces at 1 %",
    telemetry: { ...METRICS, tracing: [{ providers: [{ name: "zipkin" }], randomSamplingPercentage: 1 }] },
    isInForce: (text) => counts(text) && traces(text),
  },
  // How far figures of a busy machine can be trusted.
  { name: "telemetry off again", telemetry: undefined, isInForce: (text) => !counts(text) && !traces(text) },
];

/**
 * What telemetry costs the two Envoys that a request passes, by processor time per request. PEER, a program with istiod's flags, is measured
 * on the same Envoy without metrics: the filters with which it counts are not in a stock Envoy.
 */
const telemetry: Bench = {
  name: "telemetry",
  async run({ note, peer }) {
    const plain = await measurePlain(note);
    const ways = await measureMesh(note);
    const [off] = ways;
    const beside = peer === undefined ? [] : await measureBesidePeer({ program: peer, rounds: ROUNDS, note });
    const [ours] = beside;
    return [
      ...rowsOf("two plain Envoys", plain),
      ...ways.flatMap(({ way, rounds }) =>
        rowsOf(`two sidecars, ${way.name}`, rounds, off && { name: "telemetry off", ...off }),
      ),
      ...beside.flatMap(({ name, rounds }) => rowsOf(`two Envoys without agents, ${name}`, rounds, ours)),
    ];
  },
};

export default telemetry;

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

function rowsOf(
  name: string,
  rounds: readonly Round[],
  base?: { readonly name: string; readonly rounds: readonly Round[] },
): readonly BenchRow[] {
  const row = (member: keyof Round, what: string, unit: string): BenchRow => {
    const value = median(rounds.map((round) => round[member]));
    const compared = base !== undefined && base.rounds !== rounds;
    const ratio = compared && { to: base.name, value: value / median(base.rounds.map((round) => round[member])) };
    return { name: `${name}: ${what}`, value, unit, ...(ratio && { ratio }) };
  };
  return [
    { ...row("cpuMicros", "Envoys' processor time", "µs per request"), goal: "metrics: at most 1.05 x" },
    row("perSecond", "requests", "per second"),
    row("p99Ms", "p99", "ms"),
  ];
}

async function measureMesh(note: (text: string) => void) {
  const ports = [{ number: 80, name: "http", protocol: "HTTP", targetPort: 8080 }];
  const zipkin = [{ number: 9411, name: "http-zipkin", protocol: "HTTP", targetPort: 9411 }];
  await using mesh = await startDiscoveryMesh({
    files: {
      "services.yaml": documents(
        serviceEntry({ name: "web", vip: VIP, ports, endpoints: [{ address: WEB, serviceAccount: "web" }] }),
        serviceEntry({ name: "collector", vip: "10.96.0.20", ports: zipkin, endpoints: [{ address: COLLECTOR }] }),
      ),
    },
    mesh: JSON.stringify({
      extensionProviders: [
        { name: "prometheus", prometheus: {} },
        { name: "zipkin", zipkin: { service: hostOf("collector"), port: 9411 } },
      ],
    }),
    workloads: [
      { name: "client", address: CLIENT },
      { name: "web", address: WEB },
      { name: "collector", address: COLLECTOR, hasSidecar: false },
    ],
  });
  await mesh.workload("web").listen({ kind: "http", port: 8080, name: "web" });
  await mesh.workload("collector").listen({ kind: "collector-http", port: 9411, name: "collector" });
  const envoys = (
    await Promise.all(["client", "web"].map((name) => mesh.workload(name).agent?.envoyPids() ?? []))
  ).flat();
  const measured = WAYS.map((way) => ({ way, rounds: [] as Round[] }));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { way, rounds } of measured) {
      await putInForce(mesh, way);
      const target = { address: VIP, port: 80, host: hostOf("web") };
      rounds.push(await measureRound(mesh.workload("client"), target, envoys));
      note(`${way.name}: ${JSON.stringify(rounds.at(-1))}`);
    }
  }
  return measured;
}

async function putInForce(mesh: DiscoveryMesh, way: Way): Promise<void> {
  const { telemetry: spec } = way;
  const object = spec === undefined ? "# none\n" : ruleObject("telemetry.istio.io/v1", "Telemetry", "bench", spec);
  mesh.controlPlane.write("telemetry.yaml", object);
  await until(async () => {
    for (const name of ["client", "web"]) {
      const listeners = await mesh.workload(name).admin("/config_dump?resource=dynamic_listeners");
      if (!way.isInForce(listeners)) return `${name} has not heard of ${way.name}`;
    }
    return undefined;
  }, 60_000);
}

/** Client, Envoy, Envoy, server: the same way without a mesh and without TLS. */
async function measurePlain(note: (text: string) => void): Promise<readonly Round[]> {
  await using opened = new CloseStack();
  const program = opened.add(await bundleWorkload());
  const fabric = opened.add(await createFabric("plain"));
  const [clientSide, serverSide] = [await fabric.attach(CLIENT), await fabric.attach(WEB)];
  const client = opened.add(startWorkload(clientSide, program));
  const server = opened.add(startWorkload(serverSide, program));
  await server.listen({ kind: "http", port: 8080, name: "web" });
  const near = opened.add(await runEnvoy(forwarder(15001, WEB, 15006), { netns: clientSide }));
  const far = opened.add(await runEnvoy(forwarder(15006, "127.0.0.1", 8080), { netns: serverSide }));
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.push(await measureRound(client, { address: "127.0.0.1", port: 15001, host: "web" }, [near.pid, far.pid]));
    note(`two plain Envoys: ${JSON.stringify(rounds.at(-1))}`);
  }
  return rounds;
}

function forwarder(port: number, toAddress: string, toPort: number): object {
  const at = (address: string, port_value: number) => ({ socket_address: { address, port_value } });
  const type = (name: string) => ({ "@type": `type.googleapis.com/envoy.extensions.filters.${name}` });
  const manager = {
    ...type("network.http_connection_manager.v3.HttpConnectionManager"),
    stat_prefix: "plain",
    http_filters: [{ name: "router", typed_config: type("http.router.v3.Router") }],
    route_config: {
      virtual_hosts: [
        { name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: "next" } }] },
      ],
    },
  };
  const endpoints = [{ lb_endpoints: [{ endpoint: { address: at(toAddress, toPort) } }] }];
  return {
    static_resources: {
      listeners: [
        { address: at("0.0.0.0", port), filter_chains: [{ filters: [{ name: "http", typed_config: manager }] }] },
      ],
      clusters: [{ name: "next", load_assignment: { cluster_name: "next", endpoints } }],
    },
  };
}
