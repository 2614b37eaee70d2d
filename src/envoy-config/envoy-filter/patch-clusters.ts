import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import {
  BLACK_HOLE_CLUSTER,
  INBOUND_PASSTHROUGH_CLUSTER,
  PASSTHROUGH_CLUSTER,
  parseClusterName,
} from "../shared/cluster-name.ts";
import { type Patch, selectPatches } from "./patches.ts";
import {
  addsHere,
  applied,
  createPatching,
  isMerge,
  mergePatch,
  mergeSocket,
  type Patching,
  RENAMED,
  type ReportRefused,
  takenName,
} from "./patching.ts";

/** `hostsOf` gives the hosts whose calls an inbound cluster takes, which its name does not. */
export function patchClusters(
  patching: Patching,
  clusters: readonly Cluster[],
  hostsOf: (cluster: Cluster) => readonly string[] = () => [],
): readonly Cluster[] {
  const patches = patching.of("CLUSTER");
  if (patches.length === 0) return clusters;
  return clusters.flatMap(
    (cluster) => applied(patching, cluster.name ?? "", (some) => patchCluster(some, cluster, hostsOf(cluster))) ?? [],
  );
}

/** Clusters that patches bring along; `others` are there already. */
export function addedClusters(patching: Patching, others: ReadonlySet<string>): readonly Cluster[] {
  const added = new Map<string, Cluster>();
  for (const patch of patching.of("CLUSTER")) {
    if (!addsHere(patch, patching.context)) continue;
    const cluster: Cluster = patch.value;
    const { name = "" } = cluster;
    if (name === "") patching.refuse(patch, name, "a cluster needs a name");
    else if (isOwn(name) || others.has(name) || added.has(name)) patching.refuse(patch, name, takenName(name));
    else added.set(name, cluster);
  }
  return [...added.values()];
}

const OWN = new Set([BLACK_HOLE_CLUSTER, PASSTHROUGH_CLUSTER, INBOUND_PASSTHROUGH_CLUSTER]);

/** Whether or not the workload has such a cluster now. */
function isOwn(name: string): boolean {
  return OWN.has(name) || name.startsWith("inbound|");
}

function patchCluster(patching: Patching, cluster: Cluster, hosts: readonly string[]): Cluster | undefined {
  let patched = cluster;
  for (const patch of patching.of("CLUSTER")) {
    if (!isMeant(patch, cluster, hosts)) continue;
    if (patch.operation === "REMOVE") return undefined;
    if (!isMerge(patch)) continue;
    const merged = checked(mergeCluster(patched, patch), cluster);
    if (typeof merged === "string") patching.refuse(patch, cluster.name ?? "", merged);
    else patched = merged;
  }
  return patched;
}

function isMeant({ match }: Patch, { name = "" }: Cluster, hosts: readonly string[]): boolean {
  const wanted = match.cluster;
  if (wanted === undefined) return true;
  if (wanted.name !== "") return wanted.name === name;
  const { host = "", port = 0, subset = "", direction } = parseClusterName(name) ?? {};
  const called = direction === "inbound" && hosts.length > 0 ? hosts : [host];
  return (
    (wanted.subset === "" || wanted.subset === subset) &&
    (wanted.service === "" || called.includes(wanted.service)) &&
    (wanted.portNumber === 0 || wanted.portNumber === port)
  );
}

/** Who calls the address that a connection was meant for has no load balancing to choose, which a patch of all clusters may overlook. */
function checked(merged: Cluster | string, { name }: Cluster): Cluster | string {
  if (typeof merged === "string") return merged;
  if (merged.name !== name) return RENAMED;
  return merged.type === "ORIGINAL_DST" ? { ...merged, lbPolicy: "CLUSTER_PROVIDED" } : merged;
}

/** Where sockets are chosen by endpoint, the one of the name is meant; beside them a socket for all could not be. */
function mergeCluster(cluster: Cluster, patch: Patch): Cluster | string {
  const { transportSocket: over } = patch.value as Cluster;
  const merged = mergePatch(cluster, patch);
  if (over === undefined) return merged;
  const { transportSocket: _, ...rest } = merged;
  const matches = cluster.transportSocketMatches ?? [];
  if (matches.length === 0) {
    const transportSocket = mergeSocket(cluster.transportSocket, over);
    return typeof transportSocket === "string" ? transportSocket : { ...rest, transportSocket };
  }
  const at = matches.findIndex(({ transportSocket }) => transportSocket?.name === over.name);
  const chosen = matches[at];
  if (chosen === undefined) return `sockets are chosen by endpoint here, and none is a ${over.name}`;
  const transportSocket = mergeSocket(chosen.transportSocket, over);
  if (typeof transportSocket === "string") return transportSocket;
  return { ...rest, transportSocketMatches: matches.with(at, { ...chosen, transportSocket }) };
}

/** Resources of a workload are on the way in, except for clusters of calls that go nowhere in particular. */
interface WorkloadPatching {
  readonly inbound: Patching;
  readonly outbound: Patching;
}

/** What EnvoyFilter objects say about the workload behind the proxy; undefined where there is nothing. */
export function workloadPatching(view: ProxyView, report: ReportRefused): WorkloadPatching | undefined {
  const { snapshot, node, outbound } = view;
  const { namespace, labels } = node;
  const { meets } = outbound.traits;
  const set = selectPatches(snapshot.configs, snapshot.mesh.rootNamespace, { namespace, labels, meets });
  return (
    set && {
      inbound: createPatching(set, "SIDECAR_INBOUND", report),
      outbound: createPatching(set, "SIDECAR_OUTBOUND", report),
    }
  );
}

/** Inbound clusters have reserved names. */
const NONE: ReadonlySet<string> = new Set();
const OUTBOUND = new Set<string | undefined>([BLACK_HOLE_CLUSTER, PASSTHROUGH_CLUSTER]);

export function patchInboundClusters(
  { inbound, outbound }: WorkloadPatching,
  { inbound: { targets } }: ProxyView,
  clusters: readonly Cluster[],
): readonly Cluster[] {
  const hostsOf = ({ name = "" }: Cluster) => {
    const port = parseClusterName(name)?.port;
    return targets.filter(({ targetPort }) => targetPort === port).map(({ service }) => service.hostname);
  };
  return [
    ...patchClusters(
      outbound,
      clusters.filter(({ name }) => OUTBOUND.has(name)),
    ),
    ...patchClusters(
      inbound,
      clusters.filter(({ name }) => !OUTBOUND.has(name)),
      hostsOf,
    ),
    ...addedClusters(inbound, NONE),
  ];
}
