type Key = string | number;
type Container = Record<Key, unknown>;
/** A member and its value; with `true`, an empty list or map that later pieces fill. */
type Entry = readonly [Key, unknown, true?];

/** Part of a list that goes from one thread to another. */
export interface Piece {
  /** The list or map that the entries belong to, from the whole list on. */
  readonly at: readonly Key[];
  readonly entries: readonly Entry[];
  readonly isLast: boolean;
}

/** A few milliseconds for the thread that takes it. */
const MAX_NODES = 4000;
/** Of text that count as one value. */
const CHARACTERS = 256;

/** A list of JSON data in pieces, none of which takes its reader long: a clone of 20,000 routes in one stops a thread for half a second. */
export function* cutList(items: Iterable<unknown>): Generator<Piece, void> {
  let entries: Entry[] = [];
  let nodes = 0;
  let index = 0;
  for (const item of items) {
    const heavy = new Map<unknown, number>();
    const weight = weigh(item, heavy);
    if (weight > MAX_NODES) {
      yield { at: [], entries: [...entries, [index, emptyOf(item), true]], isLast: false };
      yield* cutMembers(item as Container, [index], heavy);
      entries = [];
      nodes = 0;
    } else {
      entries.push([index, item]);
      nodes += weight;
      if (nodes > MAX_NODES) {
        yield { at: [], entries, isLast: false };
        entries = [];
        nodes = 0;
      }
    }
    index++;
  }
  yield { at: [], entries, isLast: true };
}

function* cutMembers(container: Container, at: readonly Key[], heavy: Map<unknown, number>): Generator<Piece, void> {
  let entries: Entry[] = [];
  let nodes = 0;
  for (const name of Object.keys(container)) {
    const value = container[name];
    const isHeavy = heavy.has(value);
    entries.push(isHeavy ? [name, emptyOf(value), true] : [name, value]);
    nodes += isHeavy ? 1 : weigh(value, heavy);
    if (nodes > MAX_NODES || isHeavy) {
      yield { at, entries, isLast: false };
      entries = [];
      nodes = 0;
    }
    if (isHeavy) yield* cutMembers(value as Container, [...at, name], heavy);
  }
  if (entries.length > 0) yield { at, entries, isLast: false };
}

function weigh(value: unknown, heavy: Map<unknown, number>): number {
  if (typeof value === "string") return 1 + Math.floor(value.length / CHARACTERS);
  if (!isContainer(value)) return 1;
  let nodes = 1;
  for (const member of Object.values(value)) nodes += weigh(member, heavy);
  if (nodes > MAX_NODES) heavy.set(value, nodes);
  return nodes;
}

function emptyOf(value: unknown): unknown {
  return Array.isArray(value) ? [] : {};
}

function isContainer(value: unknown): value is Container {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

/** Puts a list together again; every part is frozen. */
export class PieceJoiner {
  readonly #list: unknown[] = [];
  readonly #open: unknown[] = [this.#list];
  readonly #freeze: (value: unknown) => unknown;

  /** `freeze` takes what came whole. */
  constructor(freeze: (value: unknown) => unknown) {
    this.#freeze = freeze;
  }

  /** The list behind the last piece, before it undefined. */
  add({ at, entries, isLast }: Piece): readonly unknown[] | undefined {
    let target = this.#list as unknown as Container;
    for (const key of at) target = target[key] as Container;
    for (const [key, value, isOpen] of entries) {
      if (isOpen) this.#open.push(value);
      else this.#freeze(value);
      // An assignment to `__proto__` would not make a member.
      if (key === "__proto__") Object.defineProperty(target, key, { value, enumerable: true });
      else target[key] = value;
    }
    if (!isLast) return undefined;
    for (const container of this.#open) Object.freeze(container);
    return this.#list;
  }
}
