import { parseClusterName } from "../../envoy-config/index.ts";
import type { GraphNode, NodeKind, WorkloadSummary } from "../api.ts";
import type { ClusterCounters } from "./parse-stats.ts";

/** A service as the graph draws it. */
export interface ServiceInfo {
  readonly name: string;
  readonly namespace: string;
  readonly host: string;
  readonly protocol: "http" | "http2" | "grpc" | "tcp";
  readonly ports: readonly number[];
  readonly entry: boolean;
  /** Something outside the mesh. */
  readonly external: boolean;
}

export interface GraphWorkload extends WorkloadSummary {
  readonly identity?: string;
  readonly calls?: readonly string[];
}

interface NodeContext {
  readonly workloads: readonly GraphWorkload[];
  readonly services: readonly ServiceInfo[];
}

interface CallContext {
  readonly services: readonly ServiceInfo[];
  readonly flows: ReadonlyMap<string, { readonly totals: ReadonlyMap<string, ClusterCounters> }>;
}

/**
 * Hosts that workloads have called since they started and no registry has: an agent alone knows no other services. By totals, not by what came
 * within a window: a card would go with every pause of its callers, and a page that is opened between two requests would have none.
 */
export function calledServices({ services, flows }: CallContext): readonly ServiceInfo[] {
  const known = new Set(services.map(({ host }) => host));
  const found = new Map<string, ServiceInfo>();
  const totals = [...flows.values()].flatMap((each) => [...each.totals]);
  for (const [cluster, { completed, connections, openConnections }] of totals) {
    const name = parseClusterName(cluster);
    if (name?.direction !== "outbound" || known.has(name.host) || completed + connections + openConnections === 0)
      continue;
    const [, short, namespace] = /^([^.]+)\.([^.]+)\.svc\./.exec(name.host) ?? [];
    const before = found.get(name.host);
    found.set(name.host, {
      name: short ?? name.host,
      namespace: namespace ?? "",
      host: name.host,
      protocol: completed > 0 || before?.protocol === "http" ? "http" : "tcp",
      ports: [...new Set([...(before?.ports ?? []), name.port])],
      entry: false,
      external: short === undefined,
    });
  }
  return [...found.values()];
}

/** A version that is called and whose workloads are not seen from here. */
export function missingVersion(to: string, nodes: ReadonlyMap<string, GraphNode>): readonly GraphNode[] {
  const [, host = "", version = ""] = /^version:(.+)\|(.+)$/.exec(to) ?? [];
  const parent = nodes.get(serviceId(host));
  if (parent === undefined || nodes.has(to)) return [];
  const { namespace, service, protocol } = parent;
  return [
    {
      id: to,
      kind: "version",
      label: version,
      namespace,
      parent: parent.id,
      host,
      version,
      ...(service === undefined ? {} : { service }),
      ...(protocol === undefined ? {} : { protocol }),
      ...membersOf([]),
    },
  ];
}

export function serviceNodes(service: ServiceInfo, { workloads }: NodeContext): readonly GraphNode[] {
  const { name, namespace, host, protocol, entry, external } = service;
  const own = workloads.filter((each) => each.service === name && each.namespace === namespace);
  const versions = [...new Set(own.flatMap(({ version }) => version ?? []))].sort();
  const id = serviceId(host);
  const kind: NodeKind = external ? "external" : kindOf(own);
  const base = { namespace, host, service: name, protocol };
  const top: GraphNode = {
    ...base,
    id,
    kind,
    // A host of the world has no shorter name; one that the mesh names itself has.
    label: external && !/\.svc\./.test(host) ? host : name,
    ...membersOf(own),
    ...(entry ? { entry } : {}),
    versions,
  };
  const parts = versions.map((version): GraphNode => {
    const of = own.filter((each) => each.version === version);
    return {
      ...base,
      id: versionId(host, version),
      kind: "version",
      label: version,
      parent: id,
      version,
      ...membersOf(of),
    };
  });
  return [top, ...parts];
}

/** Workloads that belong to no service: they only call. */
export function loneNodes({ workloads, services }: NodeContext): readonly GraphNode[] {
  return workloads
    .filter((workload) => serviceOf(workload, services) === undefined)
    .map((workload) => ({
      id: workloadId(workload.id),
      kind: workload.kind === "sidecar" ? ("workload" as const) : workload.kind,
      label: workload.name,
      namespace: workload.namespace,
      ...(workload.version === undefined ? {} : { version: workload.version }),
      ...membersOf([workload]),
    }));
}

function kindOf(workloads: readonly GraphWorkload[]): NodeKind {
  const [first] = workloads;
  if (first === undefined || first.kind === "sidecar") return "service";
  return workloads.every(({ kind }) => kind === first.kind) ? first.kind : "service";
}

function membersOf(
  workloads: readonly GraphWorkload[],
): Pick<GraphNode, "workloads" | "ready" | "reasons" | "identities"> {
  return {
    workloads: workloads.map(({ id }) => id),
    ready: workloads.filter(({ ready }) => ready).length,
    reasons: workloads.flatMap(({ reasons }) => reasons),
    identities: [...new Set(workloads.flatMap(({ identity }) => identity ?? []))],
  };
}

export function serviceOf(workload: GraphWorkload, services: readonly ServiceInfo[]): ServiceInfo | undefined {
  return services.find(({ name, namespace }) => name === workload.service && namespace === workload.namespace);
}

/** The program without Envoy that calls a service, where there is one alone: its own calls are not counted, so what the service got is its. */
export function proxylessCaller<Of extends Pick<GraphWorkload, "kind" | "namespace" | "calls">>(
  { name, namespace, entry }: ServiceInfo,
  workloads: readonly Of[],
): Of | undefined {
  if (entry) return undefined;
  const callers = workloads.filter(
    (each) => each.kind === "proxyless" && each.namespace === namespace && each.calls?.includes(name),
  );
  return callers.length === 1 ? callers[0] : undefined;
}

export function strange(id: string, kind: NodeKind, label: string): GraphNode {
  return { id, kind, label, namespace: "", workloads: [], ready: 0, reasons: [] };
}

export function serviceId(host: string): string {
  return `service:${host}`;
}

export function versionId(host: string, version: string): string {
  return `version:${host}|${version}`;
}

export function workloadId(id: string): string {
  return `workload:${id}`;
}
