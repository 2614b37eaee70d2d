import { errorMessage } from "../../base/coded-error.ts";
import { patchedMessage } from "../../istio-api/values/patch-value.ts";
import { type AnyMessage, mergeAny, mergeMessages } from "../../protobuf/envoy/index.ts";
import type { TransportSocket } from "../../protobuf/gen/envoy/config/core/v3.ts";
import { leavingOut } from "../shared/attempt.ts";
import type { ApplyTo, Patch, PatchContext, PatchSet } from "./patches.ts";

/** Patches of one context, and a report of those that cannot be applied. */
export interface Patching {
  readonly context: PatchContext;
  of(applyTo: ApplyTo): readonly Patch[];
  readonly all: readonly Patch[];
  /** The patch is left out of this resource; reported once per patch. */
  refuse(patch: Patch, resource: string, reason: string): void;
}

export type ReportRefused = (resource: string, reason: string) => void;

export function createPatching(set: PatchSet, context: PatchContext, report: ReportRefused): Patching {
  const reported = new Set<Patch>();
  const lists = new Map<ApplyTo, readonly Patch[]>();
  return {
    context,
    all: set.all,
    of(applyTo) {
      const known = lists.get(applyTo);
      if (known !== undefined) return known;
      const list = set.of(applyTo).filter(({ match }) => match.context === context || match.context === "ANY");
      lists.set(applyTo, list);
      return list;
    },
    refuse(patch, resource, reason) {
      if (reported.has(patch)) return;
      reported.add(patch);
      report(resource, `${patch.label}: ${reason}`);
    },
  };
}

/** Applies the patches; one that this fails on is left out and reported. */
export function applied<Made>(patching: Patching, resource: string, apply: (patching: Patching) => Made): Made {
  const only = (patches: readonly Patch[]): Patching => {
    if (patches === patching.all) return patching;
    const chosen = new Set(patches);
    return { ...patching, all: patches, of: (applyTo) => patching.of(applyTo).filter((patch) => chosen.has(patch)) };
  };
  return leavingOut(
    patching.all,
    (patches) => apply(only(patches)),
    (patch, thrown) => patching.refuse(patch, resource, errorMessage(thrown)),
  );
}

/** For the kinds of things whose lists and messages have nothing special about them. */
export function mergePatch<Message extends object>(target: Message, { applyTo, operation, value }: Patch): Message {
  const name = patchedMessage(applyTo) ?? "";
  return operation === "MERGE_AND_REPLACE_LIST"
    ? mergeMessages(name, target, value, "replace-lists")
    : mergeMessages(name, target, value);
}

/** Why a thing that others refer to keeps its name; two of one name are refused by proxies. */
export const RENAMED = "what has a name cannot get another";

/** Why a thing with this name is not added. */
export const takenName = (name: string): string => `the name ${name} is taken`;

/** The patch that adds the thing with the name. */
export function addedBy(patching: Patching, applyTo: ApplyTo, name: string | undefined): string | undefined {
  const adds = (patch: Patch) => addsHere(patch, patching.context) && (patch.value as { name?: string }).name === name;
  return patching.of(applyTo).find(adds)?.label;
}

/** Things that no context is named for are added once, on the way out. */
export function addsHere({ operation, match }: Patch, context: PatchContext): boolean {
  return operation === "ADD" && (match.context !== "ANY" || context !== "SIDECAR_INBOUND");
}

/**
 * A list after one patch. `isMatch` finds what the patch names in it, undefined: the patch names nothing. The list itself where the patch
 * does nothing to it.
 */
export function shapeList<Item>(
  items: readonly Item[],
  { operation, value }: Patch,
  isMatch: ((item: Item) => boolean) | undefined,
): readonly Item[] {
  const item = value as Item;
  const at = isMatch === undefined ? -1 : items.findIndex(isMatch);
  const isLost = isMatch !== undefined && at === -1;
  switch (operation) {
    case "ADD":
      return [...items, item];
    case "INSERT_FIRST":
      return [item, ...items];
    case "INSERT_BEFORE":
      return isLost ? items : items.toSpliced(Math.max(at, 0), 0, item);
    case "INSERT_AFTER":
      if (isLost) return items;
      return at === -1 ? [...items, item] : items.toSpliced(at + 1, 0, item);
    case "REPLACE":
      return at === -1 ? items : items.with(at, item);
    case "REMOVE":
      return at === -1 || isMatch === undefined ? items : items.filter((candidate) => !isMatch(candidate));
    default:
      return items;
  }
}

export function isMerge({ operation }: Patch): boolean {
  return operation === "MERGE" || operation === "MERGE_AND_REPLACE_LIST";
}

/** The settings of a named extension. */
interface Named {
  readonly name?: string | undefined;
  readonly typedConfig?: AnyMessage | undefined;
}

/** Settings of one type are merged, and the name may change. A text says why nothing can be made of the two. */
export function mergeNamed<Extension extends Named>(target: Extension, over: Named): Extension | string {
  const name = over.name || target.name;
  if (over.typedConfig === undefined) return { ...target, name };
  if (target.typedConfig === undefined) return `${target.name} has no settings that could be merged`;
  const typedConfig = mergeAny(target.typedConfig, over.typedConfig);
  if (typedConfig === undefined) {
    return `${target.name} has settings of type ${target.typedConfig["@type"]}, not of ${over.typedConfig["@type"]}`;
  }
  return { ...target, name, typedConfig };
}

/** Sockets of one name are merged; another replaces the first. */
export function mergeSocket(target: TransportSocket | undefined, over: TransportSocket): TransportSocket | string {
  return target === undefined || target.name !== over.name ? over : mergeNamed(target, over);
}
