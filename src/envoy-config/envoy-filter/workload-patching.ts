import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import { BLACK_HOLE_CLUSTER, PASSTHROUGH_CLUSTER, parseClusterName } from "../cluster-name.ts";
import { addedClusters, patchClusters } from "./patch-clusters.ts";
import { selectPatches } from "./patch-set.ts";
import { createPatching, type Patching, type TellRefused } from "./patching.ts";

/** Resources of a workload are on the way in, except for clusters of calls that go nowhere in particular. */
export interface WorkloadPatching {
  readonly inbound: Patching;
  readonly outbound: Patching;
}

/** What EnvoyFilter objects say about the workload behind the proxy; undefined where there is nothing. */
export function workloadPatching(view: ProxyView, tell: TellRefused): WorkloadPatching | undefined {
  const { snapshot, node, outbound } = view;
  const { namespace, labels } = node;
  const { meets } = outbound.traits;
  const set = selectPatches(snapshot.configs, snapshot.mesh.rootNamespace, { namespace, labels, meets });
  return (
    set && {
      inbound: createPatching(set, "SIDECAR_INBOUND", tell),
      outbound: createPatching(set, "SIDECAR_OUTBOUND", tell),
    }
  );
}

/** Those of a workload have names that nobody else may use. */
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
