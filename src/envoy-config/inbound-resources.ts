import type { ProxyView } from "../mesh-model/push-snapshot.ts";
import type { EncodedResource } from "../xds/resource-source.ts";
import { buildAccessPolicies } from "./authz/access-policies.ts";
import { generateInboundClusters } from "./clusters/generate-clusters.ts";
import { encodeResource } from "./encoded-resource.ts";
import { patchInboundClusters, workloadPatching } from "./envoy-filter/patch-clusters.ts";
import { patchListeners } from "./envoy-filter/patch-listeners.ts";
import { addedBy, type Patching } from "./envoy-filter/patching.ts";
import { generateInboundListeners } from "./listeners/inbound.ts";
import type { ResourceGuard } from "./resource-problems.ts";
import { inboundReporting } from "./telemetry/reporting.ts";
import { selectPlugins } from "./wasm/wasm-plugins.ts";

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
    const made = generateInboundClusters(view, guard.attempts(type));
    const clusters = patching === undefined ? made : patchInboundClusters(patching, view, made);
    const encoded = guard.each(type, clusters, nameOf, (cluster) =>
      encodeResource("envoy.config.cluster.v3.Cluster", nameOf(cluster), cluster),
    );
    return markAdded(encoded, made, patching?.inbound, "CLUSTER");
  }
  const policies = buildAccessPolicies(view);
  const { listeners, conflicts } = generateInboundListeners(view, policies, guard.attempts(type));
  guard.conflicts(conflicts);
  const reporting = inboundReporting(view);
  const { failed: plugins } = selectPlugins(view.snapshot.configs, view.snapshot.mesh.rootNamespace, view.node);
  for (const reason of [...policies.problems, ...reporting.problems]) refuse("virtualInbound", reason);
  for (const failed of [...policies.failed, ...reporting.failed, ...plugins])
    guard.report({ effect: "refused-rule", type, resource: "virtualInbound", ...failed });
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
