import { patchedMessage } from "../../istio-api/values/patch-value.ts";
import { mergeMessages, replaceLists } from "../../protobuf/envoy/index.ts";
import type { PatchContext, PatchSet } from "./patch-set.ts";
import type { ApplyTo, Patch } from "./read-patches.ts";

/** Patches of one context, and where to tell of those that cannot be applied. */
export interface Patching {
  readonly context: PatchContext;
  of(applyTo: ApplyTo): readonly Patch[];
  /** The patch is left out of this resource; told once per patch. */
  refuse(patch: Patch, resource: string, reason: string): void;
}

export type TellRefused = (resource: string, reason: string) => void;

export function createPatching(set: PatchSet, context: PatchContext, tell: TellRefused): Patching {
  const told = new Set<Patch>();
  const lists = new Map<ApplyTo, readonly Patch[]>();
  return {
    context,
    of(applyTo) {
      const known = lists.get(applyTo);
      if (known !== undefined) return known;
      const list = set.of(applyTo).filter(({ match }) => match.context === context || match.context === "ANY");
      lists.set(applyTo, list);
      return list;
    },
    refuse(patch, resource, reason) {
      if (told.has(patch)) return;
      told.add(patch);
      tell(resource, `${patch.label}: ${reason}`);
    },
  };
}

/** For the kinds of things whose lists and messages have nothing special about them. */
export function mergePatch<Message extends object>(target: Message, { applyTo, operation, value }: Patch): Message {
  const name = patchedMessage(applyTo) ?? "";
  return operation === "MERGE_AND_REPLACE_LIST"
    ? mergeMessages(name, target, value, replaceLists)
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
