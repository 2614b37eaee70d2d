import { type ConfigObject, compareText } from "../../istio-api/config-object.ts";
import type { EnvoyPatch } from "../../istio-api/specs.ts";
import { readPatchValue } from "../../istio-api/values/patch-value.ts";
import type { ConfigSnapshot } from "../../mesh-model/config-store.ts";
import { perValue } from "../../mesh-model/derive/derived-store.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { conditionKey } from "../../mesh-model/scopes/policies.ts";
import { selects } from "../../mesh-model/selector.ts";
import { withoutFailing } from "../shared/attempt.ts";

export type PatchContext = "SIDECAR_INBOUND" | "SIDECAR_OUTBOUND" | "GATEWAY";

/** Patches for proxies that are alike, in the order in which they are applied. */
export interface PatchSet {
  of(applyTo: ApplyTo): readonly Patch[];
  readonly all: readonly Patch[];
  readonly bad: readonly BadPatch[];
}

interface PatchedWorkload {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Conditions on proxies that this one meets. */
  readonly meets: readonly string[];
}

/** What EnvoyFilter objects say about proxies of the scope; undefined where there is nothing. */
export function scopePatches({ snapshot, mesh, traits }: OutboundScope): PatchSet | undefined {
  return selectPatches(snapshot.configs, mesh.rootNamespace, traits);
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
  const { made, failed } = withoutFailing([...ofMesh, ...own], (filters) =>
    patchSet(filters, rootNamespace, { namespace, labels, meets }),
  );
  const unread = failed.map(({ object, reason }) => ({
    label: `EnvoyFilter ${object.namespace}/${object.name}`,
    reason,
  }));
  if (made === undefined) return unread.length === 0 ? undefined : { of: () => [], all: [], bad: unread };
  return { ...made, bad: [...made.bad, ...unread] };
}

function patchSet(
  objects: readonly ConfigObject<"EnvoyFilter">[],
  rootNamespace: string,
  { labels, meets }: PatchedWorkload,
): PatchSet | undefined {
  const filters = objects
    // Those that name a target are for gateways.
    .filter(({ spec }) => spec.targetRefs.length === 0 && selects(spec.workloadSelector?.labels ?? {}, labels))
    .sort((a, b) => compareFilters(a, b, rootNamespace));
  if (filters.length === 0) return undefined;
  const all = filters
    .flatMap((filter) => readPatches(filter).patches)
    .filter(({ match }) => {
      const key = conditionKey(match.proxy);
      return key === "" || meets.includes(key);
    });
  const byTarget = new Map<ApplyTo, Patch[]>();
  for (const patch of all) {
    const list = byTarget.get(patch.applyTo) ?? [];
    list.push(patch);
    byTarget.set(patch.applyTo, list);
  }
  return {
    of: (applyTo) => byTarget.get(applyTo) ?? [],
    all,
    bad: filters.flatMap((filter) => readPatches(filter).bad),
  };
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

export type ApplyTo = EnvoyPatch["applyTo"];
type Operation = NonNullable<EnvoyPatch["patch"]>["operation"];
type Match = NonNullable<EnvoyPatch["match"]>;

/** One patch with a value that proxies can take. */
export interface Patch {
  /** `EnvoyFilter default/lua: configPatches[2]`. */
  readonly label: string;
  readonly applyTo: ApplyTo;
  readonly operation: Operation;
  readonly match: Match;
  /** In canonical form; empty for removals. */
  readonly value: object;
}

/** A patch that cannot be applied to anything, and why. */
interface BadPatch {
  readonly label: string;
  readonly reason: string;
}

interface ReadPatches {
  readonly patches: readonly Patch[];
  readonly bad: readonly BadPatch[];
}

/** The same values for the same object, so that what is made from them can compare them by identity. */
const readPatches = perValue((object: ConfigObject<"EnvoyFilter">): ReadPatches => {
  const patches: Patch[] = [];
  const bad: BadPatch[] = [];
  for (const [index, patch] of object.spec.configPatches.entries()) {
    const label = `EnvoyFilter ${object.namespace}/${object.name}: configPatches[${index}]`;
    const read = readPatch(label, patch);
    if (typeof read === "string") bad.push({ label, reason: read });
    else patches.push(read);
  }
  return { patches, bad };
});

const ANY: Match = { context: "ANY" };

function readPatch(label: string, { applyTo, match = ANY, patch }: EnvoyPatch): Patch | string {
  const operation = patch?.operation ?? "INVALID";
  if (operation === "REMOVE") return { label, applyTo, operation, match, value: {} };
  const value = readPatchValue(applyTo, patch?.value);
  return typeof value === "string" ? value : { label, applyTo, operation: effective(applyTo, operation), match, value };
}

const ORDERED = new Set<ApplyTo>(["LISTENER_FILTER", "NETWORK_FILTER", "HTTP_FILTER", "HTTP_ROUTE"]);

/** Where the order of things does not count, inserting is adding. */
function effective(applyTo: ApplyTo, operation: Operation): Operation {
  return operation.startsWith("INSERT_") && !ORDERED.has(applyTo) ? "ADD" : operation;
}
