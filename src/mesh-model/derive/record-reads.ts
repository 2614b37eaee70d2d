import { sameElements } from "../lists.ts";

/**
 * Which members of a world have questions of their own. A member that is not named is one question, whose answer is the member itself; a
 * method is one question for each of its arguments.
 */
export interface Opened {
  readonly [member: string]: Opened;
}

/** The question which members there are. */
const NAMES = "*";

/** Of a question that no value settles. */
export const UNSETTLED = 30;

/** The way to a member in worlds of one kind; equal ways are the same value. */
export class ReadPath {
  readonly #inner = new Map<string, ReadPath>();
  readonly parent: ReadPath | undefined;
  readonly member: string;
  /** `snapshot.configs.list`. */
  readonly text: string;
  /** One bit: the value that settles the question. */
  readonly uses: number;
  readonly #settledBy: readonly string[];
  /** Of a question that is no member: asks it. */
  readonly #ask: ((world: object) => Read) | undefined;

  /** `settledBy`: whole paths or their first members, which settle all below. */
  constructor(settledBy: readonly string[], member = "", parent?: ReadPath, ask?: (world: object) => Read) {
    this.member = member;
    this.parent = parent;
    this.text = parent === undefined || parent.text === "" ? member : `${parent.text}.${member}`;
    this.#settledBy = settledBy;
    this.#ask = ask;
    const [first = ""] = this.text.split(".", 1);
    const own = settledBy.indexOf(this.text);
    const slot = own === -1 ? settledBy.indexOf(first) : own;
    this.uses = 1 << (slot === -1 ? UNSETTLED : slot);
  }

  to(member: string): ReadPath {
    const known = this.#inner.get(member);
    if (known !== undefined) return known;
    const made = new ReadPath(this.#settledBy, member, this);
    this.#inner.set(member, made);
    return made;
  }

  /** The world answers the question as it was answered. */
  isStill(world: object, { args, answer, uses }: Read): boolean {
    if (answer instanceof Failure) return false;
    if (this.#ask !== undefined) {
      const now = this.#ask(world);
      // An equal answer that follows from more than this one did could change there without being asked again.
      return (now.uses & ~uses) === 0 && isSameAnswer(now.answer, answer);
    }
    const owner = this.parent?.find(world) as Record<string, unknown> | undefined;
    if (this.member === NAMES) return owner !== undefined && namesOf(owner) === answer;
    const value = owner?.[this.member];
    if (args === undefined || typeof value !== "function") return isSameAnswer(value, answer);
    return isSameAnswer(args.length === 1 ? value.call(owner, args[0]) : value.apply(owner, args), answer);
  }

  /** The member itself; the root is the world. */
  find(world: object): unknown {
    if (this.parent === undefined) return world;
    return (this.parent.find(world) as Record<string, unknown> | undefined)?.[this.member];
  }
}

function namesOf(owner: object): string {
  return Object.keys(owner).join("\0");
}

/** Lists are made again more often than what is in them. */
function isSameAnswer(a: unknown, b: unknown): boolean {
  return Object.is(a, b) || (Array.isArray(a) && Array.isArray(b) && sameElements(a, b));
}

/** One question and its answer. Values that asked the same one after the other share it. */
export class Read {
  readonly path: ReadPath;
  /** Undefined for a member that is no method. */
  readonly args: readonly unknown[] | undefined;
  readonly answer: unknown;
  /** Bits of what settles it. */
  readonly uses: number;
  /** Number of the recording that took it down last: each has a question once. */
  takenBy = 0;

  constructor(path: ReadPath, args: readonly unknown[] | undefined, answer: unknown, uses = path.uses) {
    this.path = path;
    this.args = args;
    this.answer = answer;
    this.uses = uses;
  }
}

/** What was asked of a world while something was made from it. */
export class Recording {
  static #last = 0;
  readonly number: number;
  readonly reads: Read[] = [];
  /** Values derived from the same world on the way: what they asked counts as well. */
  readonly inner: unknown[] = [];
  /** Values derived from worlds inside of the world. */
  elsewhere: Inner[] | undefined;
  /** The bits of all reads. */
  uses = 0;

  constructor() {
    Recording.#last += 1;
    this.number = Recording.#last;
  }
}

/** A value that was derived from a world inside of the world. */
export interface Inner {
  readonly path: ReadPath;
  readonly derived: unknown;
}

const HANDLER = Symbol("reader");

/** What is behind a reader; undefined for a world itself. */
function handlerOf(reader: object): ReaderHandler | undefined {
  return (reader as { readonly [HANDLER]?: ReaderHandler })[HANDLER];
}

/** Takes down that a value was derived with the reader; nothing happens for a world itself. */
export function recordInner(reader: object, derived: unknown, uses: number): void {
  const handler = handlerOf(reader);
  const recording = handler?.reading.recording;
  if (handler === undefined || recording === undefined) return;
  if (handler.path.parent === undefined) {
    recording.inner.push(derived);
    recording.uses |= uses;
    return;
  }
  recording.elsewhere ??= [];
  recording.elsewhere.push({ path: handler.path, derived });
  // What a world inside of the world follows from is not known here.
  recording.uses |= 1 << UNSETTLED;
}

/** Takes down a question that is no member; false where the reader is of a world inside of another, which the question is not about. */
export function recordRead(reader: object, read: Read): boolean {
  const handler = handlerOf(reader);
  if (handler === undefined) return true;
  if (handler.path.parent !== undefined) return false;
  handler.reading.take(read);
  return true;
}

/** The world behind a reader, or the given one. */
export function worldOf<World extends object>(reader: World): World {
  return (handlerOf(reader)?.world as World | undefined) ?? reader;
}

type Recorded<Value> = { readonly recording: Recording } & (
  | { readonly isMade: true; readonly value: Value }
  | { readonly isMade: false; readonly thrown: unknown }
);

/**
 * A world that looks like the given one and takes down every question that it is asked, each once, with its answer. One serves all values
 * that are made from the world, one within the other: a question belongs to the innermost that is being made.
 */
export class Reading<World extends object> {
  readonly reader: World;
  recording: Recording | undefined;

  constructor(world: World, root: ReadPath, opened: Opened) {
    this.reader = open(this, world, root, opened) as World;
  }

  /** Runs `make`, and takes down what it asks, up to where it fails. */
  record<Value>(make: (reader: World) => Value): Recorded<Value> {
    const outer = this.recording;
    const recording = new Recording();
    this.recording = recording;
    try {
      return { isMade: true, value: make(this.reader), recording };
    } catch (thrown) {
      return { isMade: false, thrown, recording };
    } finally {
      this.recording = outer;
    }
  }

  take(read: Read): void {
    const { recording } = this;
    if (recording === undefined || read.takenBy === recording.number) return;
    read.takenBy = recording.number;
    recording.reads.push(read);
    recording.uses |= read.uses;
  }
}

function open(reading: Reading<object>, world: object, path: ReadPath, opened: Opened): object {
  // The target of the proxy is another object: that of a frozen one would have to be answered with its own members.
  return new Proxy<object>(
    Object.create(Object.getPrototypeOf(world)),
    new ReaderHandler(reading, world, path, opened),
  );
}

/** A member as a reader answers it; without a question where the answer asks by itself. */
interface Member {
  readonly read: Read | undefined;
  readonly answer: unknown;
}

/** Answers for one object. */
class ReaderHandler implements ProxyHandler<object> {
  readonly reading: Reading<object>;
  readonly world: object;
  readonly path: ReadPath;
  readonly #opened: Opened;
  readonly #members = new Map<string, Member>();

  constructor(reading: Reading<object>, world: object, path: ReadPath, opened: Opened) {
    this.reading = reading;
    this.world = world;
    this.path = path;
    this.#opened = opened;
  }

  get(_: object, name: string | symbol): unknown {
    if (typeof name === "symbol") return name === HANDLER ? this : Reflect.get(this.world, name);
    let member = this.#members.get(name);
    if (member === undefined) {
      member = this.#find(name);
      this.#members.set(name, member);
    }
    if (member.read !== undefined) this.reading.take(member.read);
    return member.answer;
  }

  has(_: object, name: string | symbol): boolean {
    this.get(_, name);
    return Reflect.has(this.world, name);
  }

  ownKeys(): (string | symbol)[] {
    const names = this.#members.get(NAMES) ?? {
      read: new Read(this.path.to(NAMES), undefined, namesOf(this.world)),
      answer: undefined,
    };
    this.#members.set(NAMES, names);
    if (names.read !== undefined) this.reading.take(names.read);
    return Reflect.ownKeys(this.world);
  }

  getOwnPropertyDescriptor(_: object, name: string | symbol): PropertyDescriptor | undefined {
    const found = Reflect.getOwnPropertyDescriptor(this.world, name);
    if (found === undefined) return undefined;
    return { value: this.get(_, name), enumerable: found.enumerable ?? true, configurable: true, writable: false };
  }

  set(): boolean {
    return false;
  }

  #find(name: string): Member {
    const value = (this.world as Record<string, unknown>)[name];
    const path = this.path.to(name);
    if (typeof value === "function") {
      return { read: undefined, answer: recordCalls(this.reading, this.world, value as Lookup, path) };
    }
    const opened = this.#opened[name];
    if (opened !== undefined && typeof value === "object" && value !== null) {
      return { read: undefined, answer: open(this.reading, value, path, opened) };
    }
    return { read: new Read(path, undefined, value), answer: value };
  }
}

type Lookup = (...args: readonly unknown[]) => unknown;

/** A method that takes down with which arguments it is called. */
function recordCalls(reading: Reading<object>, owner: object, method: Lookup, path: ReadPath): Lookup {
  let last: Read | undefined;
  const known = new Map<unknown, Read[]>();
  /** The recording that `known` is of: what was asked before is not held longer. */
  let knownBy = 0;
  const recall = (args: readonly unknown[]): Read | undefined => {
    const number = reading.recording?.number ?? 0;
    if (knownBy !== number) {
      knownBy = number;
      if (known.size > 0) known.clear();
    }
    return known.get(args[0])?.find((read) => isSameCall(read.args, args));
  };
  return (...args) => {
    let read = last !== undefined && isSameCall(last.args, args) ? last : recall(args);
    if (read === undefined) {
      read = new Read(path, args, answerOf(method, owner, args));
      // Most values ask a method once: only a second question makes them be looked up.
      if (last !== undefined && knownBy !== 0 && last.takenBy === knownBy) {
        remember(known, last);
        remember(known, read);
      }
    }
    last = read;
    reading.take(read);
    if (read.answer instanceof Failure) throw read.answer.thrown;
    return read.answer;
  };
}

/** A question that has no answer. In another world it may have one: it is never the same. */
class Failure {
  readonly thrown: unknown;

  constructor(thrown: unknown) {
    this.thrown = thrown;
  }
}

function answerOf(method: Lookup, owner: object, args: readonly unknown[]): unknown {
  try {
    return method.apply(owner, args as unknown[]);
  } catch (thrown) {
    return new Failure(thrown);
  }
}

function remember(known: Map<unknown, Read[]>, read: Read): void {
  const first = read.args?.[0];
  const others = known.get(first);
  if (others === undefined) known.set(first, [read]);
  else if (!others.includes(read)) others.push(read);
}

function isSameCall(a: readonly unknown[] | undefined, b: readonly unknown[]): boolean {
  if (a === undefined || a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) if (!Object.is(a[index], b[index])) return false;
  return true;
}
