import { PASSTHROUGH_CLUSTER, parseClusterName } from "../../envoy-config/index.ts";
import type { GraphEdge, GraphNode, GraphSnapshot, StaleWorkload } from "../api.ts";
import { edgeOf, mergeFlows, type NamedFlow } from "./edge-figures.ts";
import { EMPTY_FLOW, withFaults } from "./fault-flows.ts";
import type { Flow, ListenerFlow } from "./flows.ts";
import {
  calledServices,
  type GraphWorkload,
  loneNodes,
  missingVersion,
  proxylessCaller,
  type ServiceInfo,
  serviceId,
  serviceNodes,
  serviceOf,
  strange,
  versionId,
  workloadId,
} from "./graph-nodes.ts";
import type { ClusterCounters } from "./parse-stats.ts";
import type { HostRules } from "./route-rules.ts";

export interface WorkloadFlows {
  readonly flows: readonly Flow[];
  readonly listeners: readonly ListenerFlow[];
  /** By cluster, since Envoy started. */
  readonly totals: ReadonlyMap<string, ClusterCounters>;
}

export interface GraphInput {
  readonly at: number;
  readonly windowMs: number;
  readonly workloads: readonly GraphWorkload[];
  readonly services: readonly ServiceInfo[];
  /** By workload id. */
  readonly flows: ReadonlyMap<string, WorkloadFlows>;
  readonly rules: ReadonlyMap<string, HostRules>;
  readonly stale: readonly StaleWorkload[];
}

const OTHER_HOSTS = "external:other hosts";
const OUTSIDE = "unknown:outside";
/** Below it the difference between what a service got and what its callers sent is noise of the windows. */
const MIN_OUTSIDE_SHARE = 0.15;

export function buildGraph(given: GraphInput): GraphSnapshot {
  const input = { ...given, services: [...given.services, ...calledServices(given)] };
  const nodes = new Map<string, GraphNode>();
  for (const node of [...input.services.flatMap((service) => serviceNodes(service, input)), ...loneNodes(input)])
    nodes.set(node.id, node);
  const edges = edgesOf(input, nodes);
  for (const node of edges.flatMap(({ to }) => missingVersion(to, nodes))) nodes.set(node.id, node);
  for (const { from, to } of edges) {
    if (to === OTHER_HOSTS) nodes.set(to, strange(to, "external", "other hosts"));
    if (from === OUTSIDE) nodes.set(from, strange(from, "unknown", "outside the mesh"));
  }
  const { at, windowMs, stale } = input;
  return { at, windowMs, nodes: [...nodes.values()], edges, stale };
}

function edgesOf(input: GraphInput, nodes: ReadonlyMap<string, GraphNode>): readonly GraphEdge[] {
  const named: NamedFlow[] = [];
  for (const workload of input.workloads) {
    const own = input.flows.get(workload.id);
    if (own === undefined) continue;
    const from = callerId(workload, input.services);
    const sent = own.flows.flatMap((flow) => outbound(flow, from, input));
    named.push(...withFaults(sent, own.listeners, input, from));
  }
  const merged = mergeFlows([...named, ...fromOutside(input, named)]);
  return merged.map((flow) => {
    const rules = input.rules.get(flow.host);
    const node = nodes.get(flow.to);
    const weight = node?.kind === "version" ? rules?.weights.get(subsetOf(rules, node.version ?? "")) : undefined;
    return edgeOf(flow, weight);
  });
}

function outbound(flow: Flow, from: string, { services, rules }: GraphInput): readonly NamedFlow[] {
  if (flow.connections + flow.completed + flow.openConnections + flow.errors + flow.overflows === 0) return [];
  if (flow.cluster === PASSTHROUGH_CLUSTER)
    return [{ ...flow, from, to: OTHER_HOSTS, host: "", port: 0, protocol: "tcp", faults: 0 }];
  const name = parseClusterName(flow.cluster);
  if (name?.direction !== "outbound") return [];
  const { host, port, subset } = name;
  const service = services.find((each) => each.host === host);
  if (service === undefined) return [];
  const version = subset === "" ? undefined : (rules.get(host)?.versions.get(subset) ?? subset);
  const to = version === undefined ? serviceId(host) : versionId(host, version);
  return [{ ...flow, from, to, host, port, protocol: service.protocol === "tcp" ? "tcp" : "http", faults: 0 }];
}

/** What a service got and no Envoy of the mesh has sent: at entries from outside, elsewhere from the program without Envoy that calls it. */
function fromOutside({ services, workloads, flows }: GraphInput, named: readonly NamedFlow[]): readonly NamedFlow[] {
  return services.flatMap((service) => {
    const caller = proxylessCaller(service, workloads);
    if (!service.entry && caller === undefined) return [];
    const own = workloads.filter((each) => each.service === service.name && each.namespace === service.namespace);
    const got = own
      .flatMap(({ id }) => flows.get(id)?.flows ?? [])
      .filter(({ cluster }) => cluster.startsWith("inbound|"));
    const sent = named
      .filter(({ host }) => host === service.host)
      .reduce((sum, { completed, faults }) => sum + completed - faults, 0);
    const completed = got.reduce((sum, flow) => sum + flow.completed, 0);
    const more = completed - sent;
    if (completed === 0 || more / completed < MIN_OUTSIDE_SHARE || more < 2) return [];
    const part = more / completed;
    const errors = got.reduce((sum, flow) => sum + flow.errors, 0) * part;
    const clientErrors = got.reduce((sum, flow) => sum + flow.clientErrors, 0) * part;
    const [first] = got;
    return [
      {
        ...EMPTY_FLOW,
        time: got.flatMap(({ time }) => time),
        completed: more,
        errors,
        clientErrors,
        from: caller === undefined ? OUTSIDE : callerId(caller, services),
        to: serviceId(service.host),
        host: service.host,
        port: service.ports[0] ?? 0,
        windowMs: first?.windowMs ?? 0,
      },
    ];
  });
}

function subsetOf(rules: HostRules | undefined, version: string): string {
  return [...(rules?.versions ?? [])].find(([, of]) => of === version)?.[0] ?? version;
}

function callerId(workload: GraphWorkload, services: readonly ServiceInfo[]): string {
  const service = serviceOf(workload, services);
  if (service === undefined) return workloadId(workload.id);
  return workload.version === undefined ? serviceId(service.host) : versionId(service.host, workload.version);
}
