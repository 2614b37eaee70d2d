import { describe, expect, test, vi } from "vitest";
import { derive, question, worldKind } from "./derived.ts";
import {
  createDerivedStore,
  createOwnedValues,
  createSharedValues,
  createStoreCounts,
  perValue,
} from "./derived-store.ts";

interface World {
  readonly name: string;
  readonly list: readonly object[];
  readonly traits: Readonly<Record<string, unknown>>;
  readonly table: ReadonlyMap<string, number>;
  look(key: string): unknown;
}

const KIND = worldKind<World>({ opened: { traits: { labels: {} }, table: {} }, settledBy: {} });
const world = (members: Partial<World> = {}): World =>
  Object.freeze({
    name: "a",
    list: [],
    traits: Object.freeze({ ip: 4, labels: Object.freeze({ app: "x" }) }),
    table: new Map([["k", 1]]),
    look: (key: string) => key,
    ...members,
  });
const labels = (of: World) => of.traits.labels as Readonly<Record<string, string>>;

describe("a derived value is valid in another world", () => {
  const one = {};
  test.each<{ is: string; make: (reader: World) => unknown; later: Partial<World>; valid: boolean }>([
    { is: "that differs in what was not asked", make: ({ name }) => name, later: { list: [one] }, valid: true },
    { is: "that differs in a member", make: ({ name }) => name, later: { name: "b" }, valid: false },
    { is: "with an equal list", make: ({ list }) => list.length, later: { list: [] }, valid: true },
    { is: "with another list", make: ({ list }) => list.length, later: { list: [one] }, valid: false },
    { is: "with another answer", make: (of) => of.look("k"), later: { look: () => 0 }, valid: false },
    {
      is: "with other answers to others",
      make: (of) => of.look("k"),
      later: { look: (key) => (key === "k" ? key : 0) },
      valid: true,
    },
    { is: "with another inner member", make: ({ traits }) => traits.ip, later: { traits: { ip: 6 } }, valid: false },
    {
      is: "with other inner members",
      make: ({ traits }) => traits.ip,
      later: { traits: { ip: 4, more: 1 } },
      valid: true,
    },
    {
      is: "with one more label where all were looked at",
      make: (of) => Object.entries(labels(of)).length,
      later: { traits: { labels: { app: "x", more: "y" } } },
      valid: false,
    },
    {
      is: "with one more label where one was looked at",
      make: (of) => labels(of).app,
      later: { traits: { labels: { app: "x", more: "y" } } },
      valid: true,
    },
    {
      is: "where an inner member is gone",
      make: (of) => labels(of).app,
      later: { traits: {} },
      valid: false,
    },
    {
      is: "where a copy was made of everything",
      make: (of) => ({ ...of }).name,
      later: { traits: { ip: 6, labels: { app: "x" } } },
      valid: true,
    },
    {
      is: "with another entry",
      make: ({ table }) => table.get("k"),
      later: { table: new Map([["k", 2]]) },
      valid: false,
    },
    {
      is: "with the same entry",
      make: ({ table }) => table.get("k"),
      later: {
        table: new Map([
          ["k", 1],
          ["l", 2],
        ]),
      },
      valid: true,
    },
  ])("$is: $valid", ({ make, later, valid }) => {
    const first = world();
    const derived = derive(KIND, first, make);
    expect(derived.value).toEqual(make(first));
    expect(derived.holdsIn(world(later))).toBe(valid);
    expect(derived.holdsIn(first)).toBe(true);
  });
});

describe("lookups that a value answers", () => {
  const settled = worldKind<World>({ opened: KIND.opened, settledBy: { look: ({ table }) => table } });

  test("are asked again when it is another one, and not while it is the same", () => {
    const look = vi.fn((key: string) => key);
    const first = world({ look });
    const derived = derive(settled, first, (of) => [of.look("a"), of.look("b"), of.look("a")]);
    expect(derived.reads).toHaveLength(2);
    look.mockClear();
    expect(derived.holdsIn(world({ look, table: first.table }))).toBe(true);
    expect(look).not.toHaveBeenCalled();
    expect(derived.holdsIn(world({ look, table: new Map() }))).toBe(true);
    expect(look).toHaveBeenCalledTimes(2);
    expect(derived.holdsIn(world({ look: () => "c", table: new Map() }))).toBe(false);
  });
});

describe("values derived from derived values", () => {
  const inner = createDerivedStore<World, string>({ kind: KIND });
  const outer = createDerivedStore<World, string>({ kind: KIND });
  const ask = (of: World) =>
    outer.get(of, "o", { make: (reader) => `<${inner.get(reader, "i", { make: ({ name }) => name })}>` });

  test("follow from what those followed from", () => {
    expect(ask(world())).toBe("<a>");
    expect(ask(world({ list: [{}] }))).toBe("<a>");
    expect(ask(world({ name: "b" }))).toBe("<b>");
    expect(ask(world())).toBe("<a>");
  });

  test("also those of a world inside of the world", () => {
    interface Outer {
      readonly inside: World;
    }
    const kind = worldKind<Outer>({ opened: { inside: { traits: {} } }, settledBy: {} });
    const owned = createOwnedValues<World, string>({ kind: KIND });
    const owner = {};
    const derived = derive(kind, { inside: world() }, ({ inside }) =>
      owned.get(inside, owner, { make: ({ name }) => name }),
    );
    expect(derived.holdsIn({ inside: world({ list: [{}] }) })).toBe(true);
    expect(derived.holdsIn({ inside: world({ name: "b" }) })).toBe(false);
  });
});

describe("a store of derived values", () => {
  /** Values are numbered as they are made. */
  function counting(options: { maxEntries?: number; isEqual?: () => boolean } = {}) {
    const counts = createStoreCounts();
    const store = createDerivedStore<World, { number: number }>({ kind: KIND, counts, ...options });
    let made = 0;
    const get = (name: string, of = world(), ...args: readonly unknown[]) =>
      store.get(of, name, { args, make: (reader) => ({ number: reader.name === "" ? 0 : ++made }) });
    return { store, counts, get };
  }

  test("makes a value again for other arguments and for another world", () => {
    const { get, counts } = counting();
    const argument = {};
    const numbers = [get("x", world(), argument), get("x", world(), argument), get("x", world(), {})];
    expect(numbers.map(({ number }) => number)).toEqual([1, 1, 2]);
    expect(get("x", world({ name: "b" })).number).toBe(3);
    expect(counts).toEqual({ hits: 1, misses: 3, evictions: 0, size: 1 });
  });

  test("lets go of the oldest beyond its size, and of what is not to be retained", () => {
    const { get, store, counts } = counting({ maxEntries: 2 });
    for (const name of ["a", "b", "c"]) get(name);
    expect(counts).toMatchObject({ evictions: 1, size: 2 });
    expect([get("b").number, get("c").number, get("a").number]).toEqual([2, 3, 4]);
    store.retain(new Set(["a"]));
    expect(counts).toMatchObject({ evictions: 3, size: 1 });
  });

  test("an equal value stays the one it was, and holds for the new world", () => {
    const { get } = counting({ isEqual: () => true });
    const first = get("x");
    const other = world({ name: "b" });
    expect(get("x", other)).toBe(first);
    expect(get("x", other)).toBe(first);
  });
});

test("worlds that answer alike share what belongs to one owner", () => {
  const owned = createOwnedValues<World, object>({ kind: KIND });
  const owner = {};
  const get = (of: World) => owned.get(of, owner, { make: ({ name }) => ({ name }) });
  const [a, b] = [get(world()), get(world({ name: "b" }))];
  expect(a).not.toBe(b);
  expect([get(world({ list: [{}] })), get(world({ name: "b" }))]).toEqual([a, b]);
  expect(get(world({ list: [{}] }))).toBe(a);
});

describe("stores that share values", () => {
  const sharing = () => {
    const shared = createSharedValues<object>();
    const make = vi.fn(({ name }: World) => ({ name }));
    const [a, b] = [0, 1].map(() => createDerivedStore<World, object>({ kind: KIND, shared }));
    const get = (store: typeof a, of: World, ...args: readonly unknown[]) => store?.get(of, "x", { args, make });
    return { a, b, get, make };
  };

  test("make a value once for all worlds that answer alike", () => {
    const { a, b, get, make } = sharing();
    const argument = {};
    const first = get(a, world(), argument);
    expect(get(b, world({ list: [{}] }), argument)).toBe(first);
    expect(make).toHaveBeenCalledTimes(1);
    expect(get(b, world({ name: "b" }), argument)).toEqual({ name: "b" });
    expect(get(a, world(), argument)).toBe(first);
    expect(get(b, world(), {})).not.toBe(first);
    expect(make).toHaveBeenCalledTimes(3);
  });

  test("forget what none of them has any more", () => {
    const { a, b, get, make } = sharing();
    const first = get(a, world());
    get(b, world());
    a?.retain(new Set());
    expect(get(a, world())).toBe(first);
    a?.retain(new Set());
    b?.retain(new Set());
    expect(get(a, world())).not.toBe(first);
    expect(make).toHaveBeenCalledTimes(2);
  });
});

describe("a function that counts as one question", () => {
  const isShort = question(KIND, "isShort", ({ name }) => name.length < 3);

  test("leaves values valid while its answer is the same, whatever it asked", () => {
    const derived = derive(KIND, world(), (of) => (isShort(of) ? of.list.length : 0));
    expect(derived.reads.map(({ path }) => path.text)).toEqual(["isShort", "list"]);
    expect(derived.holdsIn(world({ name: "b" }))).toBe(true);
    expect(derived.holdsIn(world({ name: "long" }))).toBe(false);
    expect(derived.holdsIn(world({ list: [{}] }))).toBe(false);
  });

  test("is asked again in a world where an equal answer followed from more", () => {
    const kind = worldKind<World>({
      opened: {},
      settledBy: { traits: ({ traits }) => traits, list: ({ list }) => list },
    });
    const isEmpty = question(kind, "isEmpty", (of) => of.traits.isEmpty === true || of.list.length === 0);
    const [saying, asking] = [{ isEmpty: true }, {}];
    const first = derive(kind, world({ traits: saying }), isEmpty);
    const other = world({ traits: asking });
    const there = first.sharedWith(other) ?? derive(kind, other, isEmpty);
    expect([first.value, there.value]).toEqual([true, true]);
    expect(there.holdsIn(world({ traits: asking, list: [{}] }))).toBe(false);
  });

  test("also when it is asked of a world inside of the world", () => {
    const kind = worldKind<{ readonly inside: World }>({ opened: { inside: {} }, settledBy: {} });
    const derived = derive(kind, { inside: world() }, ({ inside }) => isShort(inside));
    expect(derived.holdsIn({ inside: world({ list: [{}] }) })).toBe(true);
    expect(derived.holdsIn({ inside: world({ name: "long" }) })).toBe(false);
  });

  test("is asked once in each world", () => {
    const ask = vi.fn(({ name }: World) => name);
    const nameOf = question(KIND, "nameOf", ask);
    const first = world();
    expect([nameOf(first), derive(KIND, first, nameOf).value, nameOf(world({ name: "b" }))]).toEqual(["a", "a", "b"]);
    expect(ask).toHaveBeenCalledTimes(2);
  });
});

test("a value that another is made for, with the same reader, keeps its own questions", () => {
  const store = createDerivedStore<World, string>({ kind: KIND });
  const derived = derive(KIND, world(), (of) => {
    const inner = store.get(of, "i", { make: ({ name }) => name });
    return `${inner} ${of.list.length}`;
  });
  expect(derived.reads.map(({ path }) => path.text)).toEqual(["list"]);
  expect(store.derived("i")?.reads.map(({ path }) => path.text)).toEqual(["name"]);
  expect(derived.holdsIn(world({ name: "b" }))).toBe(false);
});

test("what is made without a value that failed follows from what that asked", () => {
  const store = createDerivedStore<World, string>({ kind: KIND });
  const derived = derive(KIND, world(), (of) => {
    try {
      store.get(of, "i", {
        make: ({ name }) => {
          throw new Error(name);
        },
      });
    } catch {
      // The value goes without.
    }
    return of.list.length;
  });
  expect(derived.reads.map(({ path }) => path.text)).toEqual(["list"]);
  expect(derived.holdsIn(world())).toBe(true);
  expect(derived.holdsIn(world({ name: "b" }))).toBe(false);
});

test("a lookup that failed is asked again in the next world", () => {
  const failing = world({
    look: () => {
      throw new Error("broken");
    },
  });
  const derived = derive(KIND, failing, (of) => {
    try {
      return of.look("k");
    } catch (thrown) {
      return String(thrown);
    }
  });
  expect(derived.value).toBe("Error: broken");
  expect(derived.holdsIn(failing)).toBe(true);
  expect(derived.holdsIn(world())).toBe(false);
});

test("a function of one value is computed once for it", () => {
  const make = vi.fn((key: { readonly n: number }) => key.n);
  const get = perValue(make);
  const key = { n: 1 };
  expect([get(key), get(key), get({ n: 2 })]).toEqual([1, 1, 2]);
  expect(make).toHaveBeenCalledTimes(2);
});
