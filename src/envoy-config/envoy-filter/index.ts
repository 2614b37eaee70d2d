import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { type PatchSet, selectPatches } from "./patch-set.ts";

export { addedClusters, patchClusters } from "./patch-clusters.ts";
export { patchListeners } from "./patch-listeners.ts";
export { patchRoute } from "./patch-routes.ts";
export type { PatchSet } from "./patch-set.ts";
export { addedBy, createPatching, type Patching, takenName } from "./patching.ts";
export { patchInboundClusters, workloadPatching } from "./workload-patching.ts";

/** What EnvoyFilter objects say about proxies of the scope; undefined where there is nothing. */
export function scopePatches({ snapshot, mesh, traits }: OutboundScope): PatchSet | undefined {
  return selectPatches(snapshot.configs, mesh.rootNamespace, traits);
}
