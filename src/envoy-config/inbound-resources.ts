import type { ProxyView } from "../mesh-model/push-snapshot.ts";
import type { EncodedResource } from "../xds/resource-source.ts";
import { inboundLogs, logServersKey } from "./access-log/telemetry.ts";
import { buildAccessPolicies } from "./authz/access-policies.ts";
import { authorizersKey } from "./authz/ext-authz.ts";
import { generateInboundClusters } from "./clusters/generate-clusters.ts";
import { encodeResource } from "./encoded-resource.ts";
import { patchInboundClusters, workloadPatching } from "./envoy-filter/patch-clusters.ts";
import { patchListeners } from "./envoy-filter/patch-listeners.ts";
import { addedBy, type Patching } from "./envoy-filter/patching.ts";
import { generateInboundListeners } from "./listeners/inbound.ts";
import type { ResourceGuard } from "./resource-problems.ts";

/** What a proxy needs for its own workload. */
export function inboundResources(
  view: ProxyView,
  type: "CDS" | "LDS",
  guard: ResourceGuard,
): readonly EncodedResource[] {
  const nameOf = ({ name = "" }: { readonly name?: string | undefined }) => name;
  const refuse = (resource: string, reason: string) => guard.report({ effect: "refused-rule", type, resource, reason });
  const patching = workloadPatching(view, refuse);
  if (type === "CDS") {
    const made = generateInboundClusters(view);
    const clusters = patching === undefined ? made : patchInboundClusters(patching, view, made);
    const encoded = guard.each(type, clusters, nameOf, (cluster) =>
      encodeResource("envoy.config.cluster.v3.Cluster", nameOf(cluster), cluster),
    );
    return markAdded(encoded, made, patching?.inbound, "CLUSTER");
  }
  const policies = buildAccessPolicies(view);
  const { listeners, conflicts } = generateInboundListeners(view, policies);
  guard.conflicts(conflicts);
  for (const reason of [...policies.problems, ...inboundLogs(view).problems]) refuse("virtualInbound", reason);
  const patched = patching === undefined ? listeners : patchListeners(patching.inbound, listeners);
  const encoded = guard.each(type, patched, nameOf, (listener) =>
    encodeResource("envoy.config.listener.v3.Listener", nameOf(listener), listener),
  );
  return markAdded(encoded, listeners, patching?.inbound, "LISTENER");
}

/** Who brought along what was not made for the workload. */
function markAdded(
  encoded: readonly EncodedResource[],
  made: readonly { readonly name?: string | undefined }[],
  patching: Patching | undefined,
  applyTo: "CLUSTER" | "LISTENER",
): readonly EncodedResource[] {
  if (patching === undefined) return encoded;
  const names = new Set(made.map(({ name }) => name));
  return encoded.map((resource) => {
    const label = names.has(resource.name) ? undefined : addedBy(patching, applyTo, resource.name);
    return label === undefined ? resource : { ...resource, addedBy: label };
  });
}

/** What inbound generators read of a view besides its inbound scope. */
export function inboundTraits(view: ProxyView): string {
  const { addresses, ipv4, ipv6, interception, unprivileged, listening, preservesHeaderCase, serverTls } = view.node;
  const others = [view.outbound.traits.meets, logServersKey(view), authorizersKey(view)];
  return JSON.stringify([
    addresses,
    ipv4,
    ipv6,
    interception,
    unprivileged,
    listening,
    preservesHeaderCase,
    serverTls,
    ...others,
  ]);
}
