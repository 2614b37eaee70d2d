import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deltaDiscoveryResponse, discoveryResponse } from "../protobuf/wire/discovery.ts";
import { deltaBody, encodeResponse, sotwBody } from "./encode-response.ts";
import { DUE_CHANGES, type Due, mergeDue, type PlanInput, planDelta, planSotw, setDifference } from "./plan-answer.ts";
import { joinSets } from "./resource-set.ts";
import type { EncodedResource, ResourceSet } from "./resource-source.ts";

/** `a1` is resource a in version 1. */
function setOf(...words: readonly string[]): ResourceSet {
  const resources: EncodedResource[] = words.map((word) => ({
    name: word.slice(0, 1),
    version: word.slice(1),
    any: Buffer.from([0x0a, 1, word.charCodeAt(0)]),
  }));
  const byName = new Map(resources.map((resource) => [resource.name, resource]));
  return {
    resources,
    parts: [resources],
    version: words.toSorted().join(),
    get sotwBody() {
      return [sotwBody(resources)];
    },
    get: (name) => byName.get(name),
  };
}

const due = (given: Partial<Due> = {}): Due => ({ everything: false, names: new Set(), held: new Map(), ...given });
const input = (
  sent: ResourceSet | undefined,
  next: ResourceSet,
  why: Due,
  more: Partial<PlanInput> = {},
): PlanInput => ({
  sent,
  next,
  due: why,
  isWholeState: false,
  skipsEmpty: false,
  isRemovable: () => true,
  names: [],
  ...more,
});
const namesOf = (resources: readonly EncodedResource[] | undefined) => resources?.map(({ name }) => name).join("");

describe("state of the world", () => {
  test.each([
    { when: "first answer", sent: undefined, next: ["a1"], why: due({ everything: true }), whole: false, count: 1 },
    {
      when: "first answer without resources",
      sent: undefined,
      next: [],
      why: due({ everything: true }),
      whole: true,
      count: 0,
    },
    { when: "same content", sent: ["a1", "b1"], next: ["a1", "b1"], why: DUE_CHANGES, whole: true, count: undefined },
    {
      when: "one of two changed, whole state",
      sent: ["a1", "b1"],
      next: ["a1", "b2"],
      why: DUE_CHANGES,
      whole: true,
      count: 2,
    },
    {
      when: "one of two changed, parts",
      sent: ["a1", "b1"],
      next: ["a1", "b2"],
      why: DUE_CHANGES,
      whole: false,
      count: 1,
    },
    { when: "one removed, whole state", sent: ["a1", "b1"], next: ["a1"], why: DUE_CHANGES, whole: true, count: 1 },
    { when: "one removed, parts", sent: ["a1", "b1"], next: ["a1"], why: DUE_CHANGES, whole: false, count: undefined },
    {
      when: "asked again by name",
      sent: ["a1"],
      next: ["a1"],
      why: due({ names: new Set(["a"]) }),
      whole: false,
      count: 1,
    },
    {
      when: "asked for everything again",
      sent: ["a1", "b1"],
      next: ["a1", "b1"],
      why: due({ everything: true }),
      whole: false,
      count: 2,
    },
  ])("$when: $count", ({ sent, next, why, whole, count }) => {
    const plan = planSotw(input(sent && setOf(...sent), setOf(...next), why, { isWholeState: whole }));
    expect(plan?.count).toBe(count);
  });

  test("types that skip empty responses send none, until they had something", () => {
    const silent = { skipsEmpty: true, isWholeState: true };
    expect(planSotw(input(undefined, setOf(), due({ everything: true }), silent))).toBeUndefined();
    expect(planSotw(input(setOf("a1"), setOf(), DUE_CHANGES, silent))?.count).toBe(0);
  });

  test("equal clients are sent the same buffer", () => {
    const [from, to] = [setOf("a1", "b1"), setOf("a1", "b2")];
    const first = planSotw(input(from, to, DUE_CHANGES));
    const second = planSotw(input(from, to, DUE_CHANGES));
    expect(first?.body[0]).toBe(second?.body[0]);
  });
});

describe("incremental", () => {
  test.each([
    { when: "first answer", sent: undefined, next: ["a1"], why: due({ everything: true }), changed: "a", removed: [] },
    {
      when: "first answer without resources",
      sent: undefined,
      next: [],
      why: due({ everything: true }),
      changed: "",
      removed: [],
    },
    {
      when: "reconnect: two of three as before, one gone",
      sent: undefined,
      next: ["a1", "b2"],
      why: due({
        everything: true,
        held: new Map([
          ["a", "1"],
          ["b", "1"],
          ["c", "1"],
        ]),
      }),
      changed: "b",
      removed: ["c"],
    },
    { when: "same content", sent: ["a1"], next: ["a1"], why: DUE_CHANGES, changed: undefined, removed: undefined },
    {
      when: "changed, new and gone",
      sent: ["a1", "b1"],
      next: ["a2", "c1"],
      why: DUE_CHANGES,
      changed: "ac",
      removed: ["b"],
    },
    {
      when: "asked again",
      sent: ["a1", "b1"],
      next: ["a1", "b1"],
      why: due({ names: new Set(["b"]) }),
      changed: "b",
      removed: [],
    },
    {
      when: "asked for what is not there",
      sent: ["a1"],
      next: ["a1"],
      why: due({ names: new Set(["x"]) }),
      changed: "",
      removed: ["x"],
    },
  ])("$when: $changed, removed $removed", ({ sent, next, why, changed, removed }) => {
    const plan = planDelta(input(sent && setOf(...sent), setOf(...next), why));
    expect(namesOf(plan?.changed)).toBe(changed);
    expect(plan?.removed).toEqual(removed);
  });

  test("a resource that is not removable stays with the client", () => {
    expect(planDelta(input(setOf("a1", "b1"), setOf("a1"), DUE_CHANGES, { isRemovable: undefined }))).toBeUndefined();
  });
});

test("the difference of two sets is worked out once", () => {
  const [from, to] = [setOf("a1"), setOf("a2", "b1")];
  expect(setDifference(from, to)).toBe(setDifference(from, to));
  expect(setDifference(from, from).changed).toEqual([]);
});

describe("the difference of two sets", () => {
  const plainly = (from: ResourceSet, to: ResourceSet) => ({
    changed: to.resources.filter(({ name, version }) => from.get(name)?.version !== version).map(({ name }) => name),
    removed: from.resources.filter(({ name }) => to.get(name) === undefined).map(({ name }) => name),
  });
  const found = (from: ResourceSet, to: ResourceSet) => {
    const { changed, removed } = setDifference(from, to);
    return { changed: changed.map(({ name }) => name), removed };
  };
  const ANY_SET = fc.uniqueArray(fc.tuple(fc.constantFrom(..."abcdefgh"), fc.constantFrom("1", "2")), {
    selector: ([name]) => name,
    maxLength: 8,
  });
  const toSet = (members: readonly (readonly [string, string])[]) => setOf(...members.map((member) => member.join("")));

  test("is what a look at every resource finds, whatever is in front and behind", () => {
    fc.assert(
      fc.property(ANY_SET, ANY_SET, (from, to) => {
        expect(found(toSet(from), toSet(to))).toEqual(plainly(toSet(from), toSet(to)));
      }),
    );
  });

  test("is the same of joined sets, also where a resource goes from one piece to the other", () => {
    const at = fc.integer({ min: 0, max: 8 });
    const joined = (members: readonly (readonly [string, string])[], split: number) =>
      joinSets(toSet(members.slice(0, split)), toSet(members.slice(split)));
    fc.assert(
      fc.property(ANY_SET, ANY_SET, at, at, (from, to, first, second) => {
        const [before, after] = [joined(from, first), joined(to, second)];
        const { changed, removed } = found(before, after);
        const expected = plainly(before, after);
        expect([...changed].sort()).toEqual([...expected.changed].sort());
        expect([...removed].sort()).toEqual([...expected.removed].sort());
      }),
    );
  });
});

test("reasons add up, and a mere change adds nothing", () => {
  const asked = due({ names: new Set(["a"]) });
  expect(mergeDue(undefined, asked)).toBe(asked);
  expect(mergeDue(asked, DUE_CHANGES)).toBe(asked);
  expect(mergeDue(DUE_CHANGES, asked)).toBe(asked);
  const both = mergeDue(asked, due({ everything: true, names: new Set(["b"]), held: new Map([["h", "1"]]) }));
  expect(both).toEqual({ everything: true, names: new Set(["a", "b"]), held: new Map([["h", "1"]]) });
});

test("names of a first subscription that do not exist are removed, unless they may appear later", () => {
  const asked = (isRemovable: (name: string) => boolean) =>
    planDelta(input(undefined, setOf("a1"), due({ everything: true }), { names: ["a", "x", "y"], isRemovable }));
  expect(asked(() => true)?.removed).toEqual(["x", "y"]);
  expect(asked((name) => name === "x")?.removed).toEqual(["x"]);
});

test("a server that skips empty responses stays silent when the client has everything", () => {
  const first = due({ everything: true, held: new Map([["a", "1"]]) });
  expect(planDelta(input(undefined, setOf("a1"), first, { skipsEmpty: true }))).toBeUndefined();
  expect(planDelta(input(undefined, setOf("a1"), first))?.count).toBe(0);
});

describe("answers on the wire", () => {
  const head = { version: "v", typeUrl: "type.googleapis.com/T", nonce: "n" };

  test("state of the world decodes to what was planned, and the body is not copied", () => {
    const body = sotwBody(setOf("a1", "b1").resources);
    const chunks = encodeResponse("sotw", head, { body: [body] });
    expect(chunks[1]).toBe(body);
    const decoded = discoveryResponse.decode(Buffer.concat(chunks));
    expect(decoded).toMatchObject({ versionInfo: "v", typeUrl: head.typeUrl, nonce: "n" });
    expect(decoded.resources.map(({ typeUrl }) => typeUrl)).toEqual(["a", "b"]);
  });

  test("incremental answers carry names, versions and removals", () => {
    const chunks = encodeResponse("delta", head, {
      body: [deltaBody(setOf("a1", "b2").resources)],
      removed: ["x", "y"],
    });
    const decoded = deltaDiscoveryResponse.decode(Buffer.concat(chunks));
    expect(decoded).toMatchObject({ systemVersionInfo: "v", nonce: "n", removedResources: ["x", "y"] });
    expect(decoded.resources.map(({ name, version }) => `${name}${version}`)).toEqual(["a1", "b2"]);
  });

  test("incremental clients that come with nothing share the bodies of the parts their sets have in common", () => {
    const [common, own, other] = [setOf("a1", "b1").resources, setOf("c1").resources, setOf("d1").resources];
    const joined = (...parts: readonly (readonly EncodedResource[])[]) => ({
      ...setOf(...parts.flat().map(({ name, version }) => `${name}${version}`)),
      parts,
    });
    const first = (set: ResourceSet) => planDelta(input(undefined, set, due({ everything: true })))?.body ?? [];
    const [one, two] = [first(joined(common, own)), first(joined(common, other))];
    expect(one[0]).toBe(two[0]);
    expect(one[1]).not.toEqual(two[1]);
    const decoded = deltaDiscoveryResponse.decode(Buffer.concat(encodeResponse("delta", head, { body: one })));
    expect(decoded.resources.map(({ name }) => name)).toEqual(["a", "b", "c"]);
  });
});
