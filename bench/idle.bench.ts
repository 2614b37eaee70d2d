import { readFileSync } from "node:fs";
import { type MessageType, map, message, nested, repeatedString, string } from "../src/protobuf/wire/message.ts";
import { type AgentProcess, freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { type MeshResource, startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import type { Bench } from "./bench.ts";

/** Twice this is long enough for the garbage collector to have given back what the start needed. */
const SETTLE_MS = 15_000;

const SERVICES = 1_000;
const nameInfo = message({ ips: repeatedString(1), registry: string(2), shortname: string(3), namespace: string(4) });
const nameTable = message({ table: map(1, nested(2, nameInfo)) });

/** What the agent's process costs while nothing happens: with an empty mesh, and with a thousand services in Envoy and in the name table. */
const idle: Bench = {
  name: "idle",
  async run({ note }) {
    await using emptyMesh = await startMeshControlPlane({ resources: () => [] });
    const resources = meshOf(SERVICES);
    await using fullMesh = await startMeshControlPlane({ resources: () => resources });
    const [port = 0] = await freePorts(1);
    const env = { ISTIO_META_DNS_CAPTURE: "true", DNS_PROXY_ADDR: `127.0.0.1:${port}` };
    await using agent = await startAgentProcess({ controlPlane: emptyMesh });
    await using full = await startAgentProcess({ controlPlane: fullMesh, env });
    await agent.untilReady();
    await full.untilReady();
    const { body } = await full.get("admin", "/clusters?format=json");
    const clusters = (JSON.parse(body) as { cluster_statuses: { name: string }[] }).cluster_statuses;
    note(`ready, ${clusters.filter(({ name }) => name.startsWith("outbound|")).length} services in Envoy; waiting`);
    await new Promise((done) => setTimeout(done, SETTLE_MS));
    const cpu = cpuSeconds(agent);
    await new Promise((done) => setTimeout(done, SETTLE_MS));
    const { rss, anonymous } = memory(agent);
    return [
      {
        name: `${SERVICES} services: private (anonymous) memory`,
        value: memory(full).anonymous,
        unit: "MB",
        goal: "<= 20",
      },
      { name: "private (anonymous) memory", value: anonymous, unit: "MB", goal: "<= 13 (Go agent: 12)" },
      { name: "resident memory", value: rss, unit: "MB", goal: "<= 65 (Go agent: 34.5)" },
      { name: "CPU at idle", value: ((cpuSeconds(agent) - cpu) / (SETTLE_MS / 1000)) * 100, unit: "% of a core" },
    ];
  },
};

export default idle;

/** Each service as a cluster and as a name. */
function meshOf(services: number): MeshResource[] {
  const hosts = Array.from({ length: services }, (_, index) => `svc${index}.ns.svc.cluster.local`);
  const ip = (index: number) => `10.0.${index >> 8}.${index & 255}`;
  const names = hosts.map((host, index): [string, MessageType<typeof nameInfo>] => [
    host,
    { ips: [ip(index)], registry: "Kubernetes", shortname: `svc${index}`, namespace: "ns" },
  ]);
  const table = nameTable.encode({ table: new Map(names) });
  return [
    { name: "nds", type: "istio.networking.nds.v1.NameTable", body: table },
    ...hosts.map((host, index) => ({
      name: `outbound|80||${host}`,
      type: "envoy.config.cluster.v3.Cluster",
      body: { name: `outbound|80||${host}`, type: "STATIC", load_assignment: endpoints(host, ip(index)) },
    })),
  ];
}

function endpoints(host: string, address: string): object {
  const endpoint = { address: { socket_address: { address, port_value: 80 } } };
  return { cluster_name: `outbound|80||${host}`, endpoints: [{ lb_endpoints: [{ endpoint }] }] };
}

function memory({ pid }: AgentProcess): { readonly rss: number; readonly anonymous: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const megabytes = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+)`, "m").exec(text)?.[1]) / 1024;
  return { rss: megabytes("Rss"), anonymous: megabytes("Anonymous") };
}

function cpuSeconds({ pid }: AgentProcess): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
