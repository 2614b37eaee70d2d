import { deltaBody, sotwBody } from "./encode-response.ts";
import type { EncodedResource, ResourceSet } from "./resource-source.ts";

/** Why a response is due; a mere change of resources is neither of these. */
export interface Due {
  /** The client waits for all of its subscription, also for what it was sent before. */
  readonly everything: boolean;
  /** It waits for these, or has to be sent them again. */
  readonly names: ReadonlySet<string>;
  /** What it has from an earlier stream: versions by name. */
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

/** The content of one response. */
export interface Plan {
  /** Encoded for the protocol; shared with clients that are sent the same. */
  readonly body: readonly Buffer[];
  readonly count: number;
  readonly removed: readonly string[];
  /** New to the client, or sent again. */
  readonly changed: readonly EncodedResource[];
}

/** What servers decide differently, type by type. */
export interface AnswerPolicy {
  /** A SotW response replaces everything the client has of the type. */
  readonly isWholeState: boolean;
  /** A response without any content is not sent, even when the client waits for one. */
  readonly skipsEmpty: boolean;
  /**
   * Delta: names that may be sent as removed. Undefined: none, because that would take traffic from clients that still use the
   * resource.
   */
  readonly isRemovable?: ((name: string) => boolean) | undefined;
}

export interface PlanInput extends AnswerPolicy {
  /** What the client was sent last; undefined before the first response. */
  readonly sent: ResourceSet | undefined;
  readonly next: ResourceSet;
  readonly due: Due;
  /** The names of the subscription. */
  readonly names: readonly string[];
}

/** Undefined: nothing has to be sent. */
export function planSotw({ sent, next, due, isWholeState, skipsEmpty }: PlanInput): Plan | undefined {
  const isFirst = sent === undefined;
  if (skipsEmpty && next.resources.length === 0 && (isFirst || sent.resources.length === 0)) return undefined;
  const { changed, removed } = setDifference(sent, next);
  if (due.everything || isFirst) return whole(next, due.everything ? next.resources : changed);
  if (isWholeState) {
    const isSame = changed.length === 0 && removed.length === 0 && !hasAny(next, due.names);
    return isSame ? undefined : whole(next, changed);
  }
  const partial = withNames(changed, next, due.names);
  if (partial.length === 0) return undefined;
  return { body: [sotwBody(partial)], count: partial.length, removed: [], changed: partial };
}

/** Undefined: nothing has to be sent. */
export function planDelta(input: PlanInput): Plan | undefined {
  const { sent, next, due, skipsEmpty, isRemovable } = input;
  const isFirst = sent === undefined;
  const difference = isFirst ? heldDifference(due.held, next) : setDifference(sent, next);
  // Before the first response, names are covered by what is held: subscribing to a name does not mean to lack it.
  const again = isFirst ? [] : due.everything ? next.resources.map(({ name }) => name) : [...due.names];
  const changed = withNames(difference.changed, next, again);
  const removed = isRemovable === undefined ? [] : removedNames(difference.removed, input).filter(isRemovable);
  if (changed.length === 0 && removed.length === 0 && (skipsEmpty || !due.everything)) return undefined;
  const parts = changed === next.resources ? next.parts : [changed];
  return { body: parts.map(deltaBody), count: changed.length, removed, changed };
}

function whole(next: ResourceSet, changed: readonly EncodedResource[]): Plan {
  return { body: next.sotwBody, count: next.resources.length, removed: [], changed };
}

/** The same list when nothing is added, so that its encoding is found again. */
function withNames(
  changed: readonly EncodedResource[],
  next: ResourceSet,
  names: Iterable<string>,
): readonly EncodedResource[] {
  const present = new Set(changed.map(({ name }) => name));
  const added = [...new Set(names)].filter((name) => !present.has(name)).map((name) => next.get(name));
  const found = added.filter((resource) => resource !== undefined);
  if (found.length === 0) return changed;
  return changed.length === 0 && found.length === next.resources.length ? next.resources : [...changed, ...found];
}

function hasAny(next: ResourceSet, names: ReadonlySet<string>): boolean {
  for (const name of names) if (next.get(name) !== undefined) return true;
  return false;
}

/** A name that is subscribed to and does not exist is removed, else the client would wait for it. */
function removedNames(removed: readonly string[], { due, names, next }: PlanInput): readonly string[] {
  const expected = due.everything ? names : [...due.names];
  const missing = expected.filter((name) => next.get(name) === undefined);
  return missing.length === 0 ? removed : [...new Set([...removed, ...missing])].sort();
}

interface SetDifference {
  /** New or of another version, in the order of the new set. */
  readonly changed: readonly EncodedResource[];
  readonly removed: readonly string[];
}

const NO_DIFFERENCE: SetDifference = { changed: [], removed: [] };
const differences = new WeakMap<ResourceSet, WeakMap<ResourceSet, SetDifference>>();

/** What a client lacks that has one set and should have another. Memoized by the two sets, which equal clients share. */
export function setDifference(from: ResourceSet | undefined, to: ResourceSet): SetDifference {
  if (from === undefined) return { changed: to.resources, removed: [] };
  if (from === to || from.version === to.version) return NO_DIFFERENCE;
  const later = differences.get(from) ?? new WeakMap<ResourceSet, SetDifference>();
  differences.set(from, later);
  const known = later.get(to);
  if (known !== undefined) return known;
  const difference = differenceOf(from, to);
  later.set(to, difference);
  return difference;
}

/** Sets that were joined of two share most pieces with those of other clients: what differs in these is found once for all. */
function differenceOf(from: ResourceSet, to: ResourceSet): SetDifference {
  if (from.joined === undefined || to.joined === undefined) return listDifference(from.resources, to.resources);
  const [first, second] = [setDifference(from.joined[0], to.joined[0]), setDifference(from.joined[1], to.joined[1])];
  // What went from one piece to the other is neither new nor gone.
  const isChanged = ({ name, version }: EncodedResource) => from.get(name)?.version !== version;
  return {
    changed: [...first.changed, ...second.changed].filter(isChanged),
    removed: [...first.removed, ...second.removed].filter((name) => to.get(name) === undefined),
  };
}

/** Most of two lists is the same at their beginnings and ends, and is not looked up. */
function listDifference(from: readonly EncodedResource[], to: readonly EncodedResource[]): SetDifference {
  const isSame = (a: EncodedResource | undefined, b: EncodedResource | undefined) =>
    a === b || (a !== undefined && a.name === b?.name && a.version === b.version);
  const shorter = Math.min(from.length, to.length);
  let start = 0;
  while (start < shorter && isSame(from[start], to[start])) start += 1;
  let same = 0;
  while (same < shorter - start && isSame(from[from.length - 1 - same], to[to.length - 1 - same])) same += 1;
  const [before, after] = [from.slice(start, from.length - same), to.slice(start, to.length - same)];
  const versions = new Map(before.map(({ name, version }) => [name, version]));
  const names = new Set(after.map(({ name }) => name));
  return {
    changed: after.filter(({ name, version }) => versions.get(name) !== version),
    removed: before.filter(({ name }) => !names.has(name)).map(({ name }) => name),
  };
}

/** The same for a client that says itself what it has. */
function heldDifference(held: ReadonlyMap<string, string>, to: ResourceSet): SetDifference {
  // The list itself, whose encoding is shared by all who come with nothing.
  if (held.size === 0) return { changed: to.resources, removed: [] };
  return {
    changed: to.resources.filter(({ name, version }) => held.get(name) !== version),
    removed: [...held.keys()].filter((name) => to.get(name) === undefined).sort(),
  };
}
