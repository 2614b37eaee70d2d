import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CloseStack } from "../../src/base/close-stack.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { defineMethod } from "../../src/grpc/method.ts";
import {
  type DiscoveryRequest,
  type DiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
} from "../../src/protobuf/wire/discovery.ts";
import { type MessageType, map, message, nested, repeatedString, string } from "../../src/protobuf/wire/message.ts";
import { type AgentProcess, freePorts, startAgentProcess } from "../../test/support/agent/agent-process.ts";
import { until } from "../../test/support/wait/until.ts";
import { type MeshControlPlane, startMeshControlPlane } from "../../test/support/xds/mesh-control-plane.ts";
import type { DnsTarget } from "./rounds.ts";

const LISTENER_TYPE = "type.googleapis.com/envoy.config.listener.v3.Listener";
const CLOCK_TICKS = 100;
const nameInfo = message({ ips: repeatedString(1), registry: string(2), shortname: string(3), namespace: string(4) });
const nameTable = message({ table: map(1, nested(2, nameInfo)) });
const streamResources = defineMethod<"bidi", Partial<DiscoveryRequest>, DiscoveryResponse>({
  path: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
  kind: "bidi",
  request: discoveryRequest,
  response: discoveryResponse,
});

export interface DnsAgents extends AsyncDisposable {
  /** In the order of the programs. */
  readonly agents: readonly (Omit<DnsTarget, "queries"> & { privateMb(): number })[];
}

export interface DnsAgentsOptions {
  readonly services: number;
  /** Takes the place of the machine's own for these processes alone; its servers are asked on port 53. */
  readonly resolvConf: string | undefined;
}

/** Whole agents, ours or others, that got their name table from one control plane. No Envoy takes part in the figures. */
export async function startDnsAgents(programs: readonly string[], options: DnsAgentsOptions): Promise<DnsAgents> {
  await using opened = new CloseStack();
  const table = nameTable.encode({ table: new Map(serviceNames(options.services)) });
  const controlPlane = await startMeshControlPlane({
    resources: () => [{ name: "nds", type: "istio.networking.nds.v1.NameTable", body: table }],
  });
  opened.defer(async () => controlPlane[Symbol.asyncDispose]());
  const agents: DnsAgents["agents"][number][] = [];
  for (const program of programs) agents.push(await startOne(program, controlPlane, { opened, ...options }));
  const owned = opened.move();
  return { agents, [Symbol.asyncDispose]: () => owned.close() };
}

async function startOne(
  program: string,
  controlPlane: MeshControlPlane,
  { opened, resolvConf }: DnsAgentsOptions & { readonly opened: CloseStack },
): Promise<DnsAgents["agents"][number]> {
  const [port = 0] = await freePorts(1);
  // The launcher's place in the command line is taken by the program; every step becomes the next one, so that the process id stays.
  const mount = resolvConf === undefined ? "" : `mount --bind "${resolvConf}" /etc/resolv.conf && `;
  const shell = ["sh", "-c", `shift; ${mount}exec "${program}" "$@"`, "sh"];
  const agent = await startAgentProcess({
    controlPlane,
    wrapper: resolvConf === undefined ? shell : ["unshare", "--mount", ...shell],
    env: { DISABLE_ENVOY: "true", ISTIO_META_DNS_CAPTURE: "true", DNS_PROXY_ADDR: `127.0.0.1:${port}` },
  });
  opened.defer(async () => agent[Symbol.asyncDispose]());
  await subscribe(agent, opened);
  const file = (name: string) => readFileSync(`/proc/${agent.pid}/${name}`, "utf8");
  return {
    port,
    cpuSeconds() {
      const stat = file("stat");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
    },
    privateMb: () => Number(/Anonymous:\s+(\d+)/.exec(file("smaps_rollup"))?.[1]) / 1024,
  };
}

/** Agents ask for the name table once a client of their xDS socket has asked for listeners; ready means that they have it. */
async function subscribe(agent: AgentProcess, opened: CloseStack): Promise<void> {
  const channel = createGrpcChannel(`unix:${join(agent.folder, "etc/istio/proxy/XDS")}`);
  opened.defer(() => channel.stop());
  await until(async () => {
    if (agent.child.exitCode !== null) throw new Error(`${agent.stdout().slice(-2000)} ${agent.stderr()}`);
    const call = await channel.bidi(streamResources, {});
    await call.write({ node: { id: "sidecar~127.0.0.1~app.ns~ns.svc.cluster.local" }, typeUrl: LISTENER_TYPE });
    const first = await call.responses.next().catch(() => undefined);
    if (first === undefined || first.done === true) return "no stream through the agent";
    return undefined;
  }, 20_000);
  await until(async () => {
    const { status, body } = await agent.get("status", "/debug/ndsz");
    return status === 200 && body.length > 100 ? undefined : `no name table: ${status}`;
  });
}

function* serviceNames(services: number): Generator<[string, MessageType<typeof nameInfo>]> {
  for (let index = 0; index < services; index++) {
    const ips = [`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`];
    const shortname = `svc${index}`;
    yield [`${shortname}.ns1.svc.cluster.local`, { ips, registry: "Kubernetes", shortname, namespace: "ns1" }];
  }
}
