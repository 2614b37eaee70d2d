import type { EncodedResource, ResourceSet } from "../../../xds/resource-source.ts";
import { deltaBody, heldDifference, setDifference, sotwBody } from "./set-difference.ts";

/** Why an answer is due; a mere change of the mesh is neither of these. */
export interface Due {
  /** Of this type the client waits for an answer, whatever it was sent before. */
  readonly everything: boolean;
  /** These it waits for, or has to be told again. */
  readonly names: ReadonlySet<string>;
  /** What it holds from an earlier stream, by name. */
  readonly held: ReadonlyMap<string, string>;
}

export const DUE_CHANGES: Due = { everything: false, names: new Set(), held: new Map() };

export function mergeDue(first: Due | undefined, second: Due): Due {
  if (first === undefined || first === DUE_CHANGES) return second;
  if (second === DUE_CHANGES) return first;
  return {
    everything: first.everything || second.everything,
    names: first.names.size === 0 ? second.names : new Set([...first.names, ...second.names]),
    held: first.held.size === 0 ? second.held : first.held,
  };
}

/** What goes to one client. Without a plan, nothing does. */
export interface Plan {
  /** Encoded for the protocol; shared with clients that are sent the same. */
  readonly body: readonly Buffer[];
  readonly count: number;
  readonly removed: readonly string[];
  /** New to the client, or told again. */
  readonly changed: readonly EncodedResource[];
}

export interface PlanInput {
  /** What the client was sent last; undefined before the first answer. */
  readonly sent: ResourceSet | undefined;
  readonly next: ResourceSet;
  readonly due: Due;
  /** Each answer replaces everything the client has of the type. */
  readonly isWholeState: boolean;
  readonly skipsEmpty: boolean;
}

export function planSotw({ sent, next, due, isWholeState, skipsEmpty }: PlanInput): Plan | undefined {
  const isFirst = sent === undefined;
  if (skipsEmpty && next.resources.length === 0 && (isFirst || sent.resources.length === 0)) return undefined;
  const { changed, removed } = setDifference(sent, next);
  if (due.everything || isFirst) return whole(next, due.everything ? next.resources : changed);
  if (isWholeState) {
    const isSame = changed.length === 0 && removed.length === 0 && !hasAny(next, due.names);
    return isSame ? undefined : whole(next, changed);
  }
  const told = withNames(changed, next, due.names);
  return told.length === 0 ? undefined : { body: [sotwBody(told)], count: told.length, removed: [], changed: told };
}

/** `keepsRemoved`: a resource that is gone is not told as removed, because that would take traffic from clients that still use it. */
export function planDelta(
  { sent, next, due, skipsEmpty }: PlanInput,
  { keepsRemoved }: { readonly keepsRemoved: boolean },
): Plan | undefined {
  const isFirst = sent === undefined;
  if (skipsEmpty && next.resources.length === 0 && (isFirst || sent.resources.length === 0)) return undefined;
  const difference = isFirst ? heldDifference(due.held, next) : setDifference(sent, next);
  // Before the first answer, names are covered by what is held: asking for a name does not mean to lack it.
  const again = isFirst ? [] : due.everything ? next.resources.map(({ name }) => name) : [...due.names];
  const changed = withNames(difference.changed, next, again);
  const unknown = [...due.names].filter((name) => next.get(name) === undefined);
  const removed = keepsRemoved ? [] : unknown.length === 0 ? difference.removed : union(difference.removed, unknown);
  if (!due.everything && changed.length === 0 && removed.length === 0) return undefined;
  const parts = changed === next.resources ? next.parts : [changed];
  return { body: parts.map(deltaBody), count: changed.length, removed, changed };
}

function whole(next: ResourceSet, changed: readonly EncodedResource[]): Plan {
  return { body: next.sotwBody, count: next.resources.length, removed: [], changed };
}

/** The same list when nothing is to be added, so that its encoding is found again. */
function withNames(
  changed: readonly EncodedResource[],
  next: ResourceSet,
  names: Iterable<string>,
): readonly EncodedResource[] {
  const told = new Set(changed.map(({ name }) => name));
  const added = [...new Set(names)].filter((name) => !told.has(name)).map((name) => next.get(name));
  const found = added.filter((resource) => resource !== undefined);
  if (found.length === 0) return changed;
  return changed.length === 0 && found.length === next.resources.length ? next.resources : [...changed, ...found];
}

function hasAny(next: ResourceSet, names: ReadonlySet<string>): boolean {
  for (const name of names) if (next.get(name) !== undefined) return true;
  return false;
}

function union(first: readonly string[], second: readonly string[]): readonly string[] {
  return [...new Set([...first, ...second])].sort();
}
