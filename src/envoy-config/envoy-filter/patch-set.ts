import { type ConfigObject, compareText } from "../../istio-api/config-object.ts";
import type { ConfigSnapshot } from "../../mesh-model/config-store.ts";
import { conditionKey } from "../../mesh-model/scopes/proxy-conditions.ts";
import { selects } from "../../mesh-model/selector.ts";
import { type ApplyTo, type BadPatch, type Patch, readPatches } from "./read-patches.ts";

export type PatchContext = "SIDECAR_INBOUND" | "SIDECAR_OUTBOUND" | "GATEWAY";

/** Patches for proxies that are alike, in the order in which they are applied. */
export interface PatchSet {
  of(applyTo: ApplyTo): readonly Patch[];
  readonly bad: readonly BadPatch[];
}

export interface PatchedWorkload {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Conditions on proxies that this one meets. */
  readonly meets: readonly string[];
}

/** Undefined where nothing is patched. By priority, then the root namespace's before the workload's own, then by age and name. */
export function selectPatches(
  configs: Pick<ConfigSnapshot, "list">,
  rootNamespace: string,
  { namespace, labels, meets }: PatchedWorkload,
): PatchSet | undefined {
  const ofMesh = configs.list("EnvoyFilter", rootNamespace);
  const own = namespace === rootNamespace ? [] : configs.list("EnvoyFilter", namespace);
  if (ofMesh.length === 0 && own.length === 0) return undefined;
  const filters = [...ofMesh, ...own]
    // Those that name a target are for gateways.
    .filter(({ spec }) => spec.targetRefs.length === 0 && selects(spec.workloadSelector?.labels ?? {}, labels))
    .sort((a, b) => compareFilters(a, b, rootNamespace));
  if (filters.length === 0) return undefined;
  const byPlace = new Map<ApplyTo, Patch[]>();
  for (const patch of filters.flatMap((filter) => readPatches(filter).patches)) {
    const key = conditionKey(patch.match.proxy);
    if (key !== "" && !meets.includes(key)) continue;
    const list = byPlace.get(patch.applyTo) ?? [];
    list.push(patch);
    byPlace.set(patch.applyTo, list);
  }
  return { of: (applyTo) => byPlace.get(applyTo) ?? [], bad: filters.flatMap((filter) => readPatches(filter).bad) };
}

function compareFilters(a: ConfigObject<"EnvoyFilter">, b: ConfigObject<"EnvoyFilter">, rootNamespace: string): number {
  const rank = ({ namespace }: ConfigObject<"EnvoyFilter">) => Number(namespace !== rootNamespace);
  return (
    a.spec.priority - b.spec.priority ||
    rank(a) - rank(b) ||
    a.creationTime - b.creationTime ||
    compareText(`${a.name}.${a.namespace}`, `${b.name}.${b.namespace}`)
  );
}
