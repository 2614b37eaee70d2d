import { errorMessage } from "../../base/coded-error.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { parseMessage } from "../../protobuf/envoy/index.ts";
import type { Bootstrap } from "../../protobuf/gen/envoy/config/bootstrap/v3.ts";
import { type Patch, type PatchContext, scopePatches } from "./patches.ts";
import { isMerge, mergePatch, type ReportRefused, takenName } from "./patching.ts";

const SIDECAR: readonly PatchContext[] = ["SIDECAR_INBOUND", "SIDECAR_OUTBOUND"];
const GATEWAY: readonly PatchContext[] = ["GATEWAY"];

/**
 * What a proxy starts with, with the patches of its scope merged over it in their order. Envoy does not start with two static clusters or
 * listeners of one name: a patch that would add one is left out.
 */
export function patchBootstrap(document: object, scope: OutboundScope, report: ReportRefused): Bootstrap {
  const contexts = scope.traits.type === "router" ? GATEWAY : SIDECAR;
  const patches = (scopePatches(scope)?.of("BOOTSTRAP") ?? []).filter(
    (patch) => isMerge(patch) && [...contexts, "ANY"].includes(patch.match.context),
  );
  let bootstrap: Bootstrap = parseMessage("envoy.config.bootstrap.v3.Bootstrap", document);
  for (const patch of patches) {
    const merged = mergedBy(patch, bootstrap);
    if (typeof merged === "string") report("bootstrap", `${patch.label}: ${merged}`);
    else bootstrap = merged;
  }
  return bootstrap;
}

/** A text says why the patch is left out. */
function mergedBy(patch: Patch, bootstrap: Bootstrap): Bootstrap | string {
  try {
    const merged = mergePatch(bootstrap, patch);
    const twice = repeatedName(merged);
    return twice === undefined ? merged : takenName(twice);
  } catch (thrown) {
    return errorMessage(thrown);
  }
}

function repeatedName({ staticResources }: Bootstrap): string | undefined {
  const lists = [staticResources?.clusters ?? [], staticResources?.listeners ?? []];
  for (const list of lists) {
    const names = list.flatMap(({ name }) => (name ? [name] : []));
    const twice = names.find((name, at) => names.indexOf(name) < at);
    if (twice !== undefined) return twice;
  }
  return undefined;
}
