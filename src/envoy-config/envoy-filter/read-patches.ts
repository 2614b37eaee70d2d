import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { EnvoyPatch } from "../../istio-api/specs/envoy-filter.ts";
import { readPatchValue } from "../../istio-api/values/patch-value.ts";

export type ApplyTo = EnvoyPatch["applyTo"];
export type Operation = NonNullable<EnvoyPatch["patch"]>["operation"];
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
export interface BadPatch {
  readonly label: string;
  readonly reason: string;
}

export interface ReadPatches {
  readonly patches: readonly Patch[];
  readonly bad: readonly BadPatch[];
}

const known = new WeakMap<ConfigObject<"EnvoyFilter">, ReadPatches>();

/** The same values for the same object, so that what was made with them can be told to be still good. */
export function readPatches(object: ConfigObject<"EnvoyFilter">): ReadPatches {
  const found = known.get(object);
  if (found !== undefined) return found;
  const patches: Patch[] = [];
  const bad: BadPatch[] = [];
  for (const [index, patch] of object.spec.configPatches.entries()) {
    const label = `EnvoyFilter ${object.namespace}/${object.name}: configPatches[${index}]`;
    const read = readPatch(label, patch);
    if (typeof read === "string") bad.push({ label, reason: read });
    else patches.push(read);
  }
  const made = { patches, bad };
  known.set(object, made);
  return made;
}

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
