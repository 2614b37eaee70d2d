import {
  type Inner,
  type Opened,
  Read,
  Reading,
  ReadPath,
  recordInner,
  recordRead,
  UNSETTLED,
  worldOf,
} from "./record-reads.ts";

interface WorldKindOptions<World extends object> {
  readonly opened: Opened;
  /** The value behind the members of a path, by the path's text or its first member. */
  readonly settledBy: Readonly<Record<string, (world: World) => unknown>>;
}

/**
 * What something is derived from: a kind of world, with lookups that need not be asked again one by one while the value that answers them is
 * the same. A member that nothing settles is always asked again.
 */
export interface WorldKind<World extends object> extends WorldKindOptions<World> {
  readonly root: ReadPath;
}

export function worldKind<World extends object>(options: WorldKindOptions<World>): WorldKind<World> {
  return { ...options, root: new ReadPath(Object.keys(options.settledBy)) };
}

/** A value and what was asked while it was made. It is valid in every world that gives the same answers. */
class Derivation<Value> {
  readonly value: Value;
  readonly kind: WorldKind<never>;
  readonly reads: readonly Read[];
  readonly inner: readonly Derived<unknown>[];
  readonly elsewhere: readonly Inner[];
  /** The bits of all reads, also those of inner values. */
  readonly uses: number;

  constructor(value: Value, kind: WorldKind<never>, { reads, inner, elsewhere = NOTHING, uses }: Asked) {
    this.value = value;
    this.kind = kind;
    this.reads = reads;
    this.inner = inner.length === 0 ? NOTHING : (inner as readonly Derived<unknown>[]);
    this.elsewhere = elsewhere;
    this.uses = uses;
  }
}

interface Asked {
  readonly reads: readonly Read[];
  readonly inner: readonly unknown[];
  readonly elsewhere?: readonly Inner[] | undefined;
  readonly uses: number;
}

const NOTHING: readonly never[] = [];

/** One number for each value that settles lookups, another one for another value: nothing of a world is held by them. */
type Revisions = readonly number[];

/** A derived value as one store has it: others may have the same, for other worlds. */
export class Derived<Value> {
  readonly #of: Derivation<Value>;
  /** Of the world that it was last found valid in. */
  #revisions: Revisions;

  constructor(of: Derivation<Value>, revisions: Revisions) {
    this.#of = of;
    this.#revisions = revisions;
  }

  get value(): Value {
    return this.#of.value;
  }

  get reads(): readonly Read[] {
    return this.#of.reads;
  }

  /** Values derived on the way. */
  get inner(): readonly Derived<unknown>[] {
    return [...this.#of.inner, ...this.#of.elsewhere.map(({ derived }) => derived as Derived<unknown>)];
  }

  get uses(): number {
    return this.#of.uses;
  }

  /** The world gives the same answers to everything that was asked. */
  holdsIn(from: object): boolean {
    const world = worldOf(from);
    return this.#holds(world, stateOf(this.#of.kind as unknown as WorldKind<object>, world).revisions);
  }

  /** For another store, where it holds in the world of that. */
  sharedWith(from: object): Derived<Value> | undefined {
    const world = worldOf(from);
    const now = stateOf(this.#of.kind as unknown as WorldKind<object>, world).revisions;
    return this.#isAnswered(world, now) ? new Derived(this.#of, now) : undefined;
  }

  /** Says the same as another: that one's value, for what was asked now. */
  withValue(value: Value): Derived<Value> {
    return new Derived(new Derivation(value, this.#of.kind, this.#of), this.#revisions);
  }

  #holds(world: object, now: Revisions): boolean {
    if (this.#revisions === now) return true;
    if (!this.#isAnswered(world, now)) return false;
    this.#revisions = now;
    return true;
  }

  #isAnswered(world: object, now: Revisions): boolean {
    const changed = changedSince(this.#revisions, now);
    const { uses, reads, inner, elsewhere } = this.#of;
    if ((uses & changed) === 0) return true;
    for (const read of reads) {
      if ((read.uses & changed) !== 0 && !read.path.isStill(world, read)) return false;
    }
    for (const one of inner) if (!one.#holds(world, now)) return false;
    for (const { path, derived } of elsewhere) {
      const own = path.find(world);
      if (typeof own !== "object" || own === null || !(derived as Derived<unknown>).holdsIn(own)) return false;
    }
    return true;
  }
}

/** Makes a value with a reader of the world. Within a reader of something else, its reads become part of what that is made from. */
export function derive<World extends object, Value>(
  kind: WorldKind<World>,
  from: World,
  make: (reader: World) => Value,
): Derived<Value> {
  const state = stateOf(kind, worldOf(from));
  const made = state.readingOf(kind).record(make);
  const derivedOf = <Of>(value: Of) =>
    new Derived(new Derivation(value, kind as unknown as WorldKind<never>, made.recording), state.revisions);
  if (made.isMade) return derivedOf(made.value);
  // What is made without it follows from what it asked: with other answers it may succeed.
  consult(from, derivedOf(undefined));
  throw made.thrown;
}

/** The value stays part of what is made with the reader; without one, nothing happens. */
export function consult<Value>(from: object, derived: Derived<Value>): Value {
  recordInner(from, derived, derived.uses);
  return derived.value;
}

interface Answered<Answer> {
  readonly derived: Derived<Answer>;
  readonly read: Read;
}

/**
 * A function of worlds that counts as one question: whatever it asks, what was made with its answer is valid while that is the same. It is
 * asked once in each world.
 */
export function question<World extends object, Answer>(
  kind: WorldKind<World>,
  name: string,
  ask: (reader: World) => Answer,
): (from: World) => Answer {
  // What the answer followed from in any world: worlds where it follows from less can then share values with the others.
  let uses = 0;
  const answerIn = (world: World): Answered<Answer> => {
    const { answers } = stateOf(kind, world);
    const known = answers.get(path);
    if (known !== undefined) return known as Answered<Answer>;
    const derived = derive(kind, world, ask);
    uses |= derived.uses;
    const answered = { derived, read: new Read(path, undefined, derived.value, uses) };
    answers.set(path, answered);
    return answered;
  };
  const path: ReadPath = new ReadPath([], name, undefined, (world) => answerIn(world as World).read);
  return (from) => {
    const { derived, read } = answerIn(worldOf(from));
    return recordRead(from, read) ? derived.value : consult(from, derived);
  };
}

/** Beside a world: what readers of it share. */
class WorldState {
  readonly revisions: Revisions;
  /** To questions that are no members. */
  readonly answers = new Map<ReadPath, unknown>();
  readonly #world: object;
  readonly #readings: { readonly kind: unknown; readonly reading: unknown }[] = [];

  constructor(world: object, revisions: Revisions) {
    this.#world = world;
    this.revisions = revisions;
  }

  readingOf<World extends object>(kind: WorldKind<World>): Reading<World> {
    const known = this.#readings.find((one) => one.kind === kind);
    if (known !== undefined) return known.reading as Reading<World>;
    const reading = new Reading(this.#world as World, kind.root, kind.opened);
    this.#readings.push({ kind, reading });
    return reading;
  }
}

/** Kinds of one world share what settles it. */
const STATES = new WeakMap<object, WorldState>();
const NUMBERS = new WeakMap<object, number>();
let last = 0;

function stateOf<World extends object>(kind: WorldKind<World>, world: World): WorldState {
  const known = STATES.get(world);
  if (known !== undefined) return known;
  const state = new WorldState(
    world,
    Object.values(kind.settledBy).map((find) => numberOf(find(world))),
  );
  STATES.set(world, state);
  return state;
}

function numberOf(value: unknown): number {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return 0;
  const known = NUMBERS.get(value);
  if (known !== undefined) return known;
  last += 1;
  NUMBERS.set(value, last);
  return last;
}

/** Thousands of values are checked one after the other between the same two worlds. */
let compared: { readonly before: Revisions; readonly now: Revisions; readonly changed: number } | undefined;

function changedSince(before: Revisions, now: Revisions): number {
  if (compared?.before === before && compared.now === now) return compared.changed;
  let changed = 1 << UNSETTLED;
  for (let index = 0; index < now.length; index += 1) if (before[index] !== now[index]) changed |= 1 << index;
  compared = { before, now, changed };
  return changed;
}
