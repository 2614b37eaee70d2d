import { sameElements } from "../lists.ts";
import { consult, type Derived, derive, type WorldKind } from "./derived.ts";

/** Hits, misses and size, for metrics. */
export interface StoreCounts {
  hits: number;
  misses: number;
  /** Values that were let go. */
  evictions: number;
  size: number;
}

export function createStoreCounts(): StoreCounts {
  return { hits: 0, misses: 0, evictions: 0, size: 0 };
}

/** How a derived value is asked for: what it is made from besides the world, and how. `make` may use its reader and `args` alone. */
export interface Recipe<World extends object, Value> {
  /** Immutable values: others than before make another value. */
  readonly args?: readonly unknown[];
  readonly make: (reader: World) => Value;
}

/** Derived values by name. They are made again when the world gives other answers than it gave to them. */
export interface DerivedStore<World extends object, Value> {
  get(from: World, name: string, recipe: Recipe<World, Value>): Value;
  /** Lets go of names that `keep` does not have. */
  retain(keep: ReadonlySet<string>): void;
  /** Values that were made and not let go, whether they are still valid or not. */
  values(): Iterable<Derived<Value>>;
  derived(name: string): Derived<Value> | undefined;
}

export interface StoreOptions<World extends object, Value> {
  readonly kind: WorldKind<World>;
  readonly counts?: StoreCounts;
  /** Beyond it the oldest are let go: clients may ask for any number of names. */
  readonly maxEntries?: number;
  /** A value that is made again and says the same as the one before stays that one. */
  readonly isEqual?: (before: Value, after: Value) => boolean;
  /** False for values that are not worth their room. */
  readonly isKept?: (value: Value) => boolean;
  /** Of other stores, whose values may be good here as well. */
  readonly shared?: SharedValues<Value>;
}

interface Kept<Value> {
  readonly args: readonly unknown[];
  readonly derived: Derived<Value>;
  readonly variant: Variant<Value> | undefined;
}

/** One of the values that stores have under a name. */
interface Variant<Value> {
  readonly args: readonly unknown[];
  /** As the store has it that found it last. */
  derived: Derived<Value>;
  holders: number;
}

/** What several stores have in common: a value that gets the same answers in another world is not made for that again. */
export interface SharedValues<Value> {
  find(from: object, name: string, args: readonly unknown[]): Kept<Value> | undefined;
  add(name: string, args: readonly unknown[], derived: Derived<Value>): Kept<Value>;
  /** A store lets go of it; what none has any more goes. */
  release(name: string, variant: Variant<Value>): void;
}

const NO_ARGS: readonly unknown[] = [];

/** Worlds may answer differently to what is asked under one name; more variants than these are not looked at. */
const MAX_VARIANTS = 8;

export function createSharedValues<Value>(): SharedValues<Value> {
  const names = new Map<string, Variant<Value>[]>();
  return {
    find(from, name, args) {
      const variants = names.get(name) ?? [];
      for (let index = 0; index < variants.length && index < MAX_VARIANTS; index += 1) {
        const variant = variants[index];
        if (variant === undefined || !sameElements(variant.args, args)) continue;
        const derived = variant.derived.sharedWith(from);
        if (derived === undefined) continue;
        variant.derived = derived;
        variant.holders += 1;
        return { args: variant.args, derived, variant };
      }
      return undefined;
    },
    add(name, args, derived) {
      const variant = { args, derived, holders: 1 };
      const variants = names.get(name);
      if (variants === undefined) names.set(name, [variant]);
      else variants.unshift(variant);
      return { args, derived, variant };
    },
    release(name, variant) {
      variant.holders -= 1;
      if (variant.holders > 0) return;
      const left = (names.get(name) ?? []).filter((one) => one !== variant);
      if (left.length === 0) names.delete(name);
      else names.set(name, left);
    },
  };
}

export function createDerivedStore<World extends object, Value>({
  kind,
  counts = createStoreCounts(),
  maxEntries = Number.POSITIVE_INFINITY,
  isEqual,
  isKept = () => true,
  shared,
}: StoreOptions<World, Value>): DerivedStore<World, Value> {
  const entries = new Map<string, Kept<Value>>();
  const evict = (name: string, { variant }: Kept<Value>) => {
    entries.delete(name);
    if (variant !== undefined) shared?.release(name, variant);
    counts.size -= 1;
    counts.evictions += 1;
  };
  const keep = (name: string, before: Kept<Value> | undefined, after: Kept<Value>) => {
    entries.set(name, after);
    if (before === undefined) counts.size += 1;
    else if (before.variant !== undefined) shared?.release(name, before.variant);
    if (entries.size <= maxEntries) return;
    for (const [oldest, entry] of entries) return evict(oldest, entry);
  };
  return {
    get(from, name, { args = NO_ARGS, make }) {
      const known = entries.get(name);
      if (known !== undefined && sameElements(known.args, args) && known.derived.holdsIn(from)) {
        counts.hits += 1;
        return consult(from, known.derived);
      }
      const found = shared?.find(from, name, args);
      if (found !== undefined) {
        counts.hits += 1;
        keep(name, known, found);
        return consult(from, found.derived);
      }
      counts.misses += 1;
      const derived = remake(derive(kind, from, make), known?.derived, isEqual);
      if (!isKept(derived.value)) return consult(from, derived);
      keep(name, known, shared?.add(name, args, derived) ?? { args, derived, variant: undefined });
      return consult(from, derived);
    },
    retain(wanted) {
      for (const [name, entry] of entries) if (!wanted.has(name)) evict(name, entry);
    },
    *values() {
      for (const { derived } of entries.values()) yield derived;
    },
    derived: (name) => entries.get(name)?.derived,
  };
}

/** What was asked is that of the new one. */
function remake<Value>(
  made: Derived<Value>,
  before: Derived<Value> | undefined,
  isEqual: ((before: Value, after: Value) => boolean) | undefined,
): Derived<Value> {
  if (before === undefined || isEqual === undefined || !isEqual(before.value, made.value)) return made;
  return made.withValue(before.value);
}

/** Derived values that belong to an immutable value and live as long as it does, for all worlds that have it. */
export interface OwnedValues<World extends object, Value> {
  get(from: World, owner: object, recipe: Recipe<World, Value> & { readonly name?: string }): Value;
}

export function createOwnedValues<World extends object, Value>({
  kind,
}: Pick<StoreOptions<World, Value>, "kind">): OwnedValues<World, Value> {
  const owners = new WeakMap<object, Map<string, Omit<Kept<Value>, "variant">[]>>();
  return {
    get(from, owner, { name = "", args = NO_ARGS, make }) {
      let names = owners.get(owner);
      if (names === undefined) {
        names = new Map();
        owners.set(owner, names);
      }
      let variants = names.get(name);
      if (variants === undefined) {
        variants = [];
        names.set(name, variants);
      }
      const known = variants.find((one) => sameElements(one.args, args) && one.derived.holdsIn(from));
      if (known !== undefined) return consult(from, known.derived);
      const derived = derive(kind, from, make);
      variants.unshift({ args, derived });
      if (variants.length > MAX_VARIANTS) variants.pop();
      return consult(from, derived);
    },
  };
}

/** A function of one immutable value, computed once for each while it is in use: nothing else is asked, so that nothing can change. */
export function perValue<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found.value;
    const value = make(key);
    known.set(key, { value });
    return value;
  };
}
