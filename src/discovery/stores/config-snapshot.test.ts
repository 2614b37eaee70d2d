import fc from "fast-check";
import { expect, test } from "vitest";
import { workloadEntry } from "../../../test/support/discovery/objects.ts";
import { type AnyConfigObject, objectKey } from "../../istio-api/config-object.ts";
import { decodeObject } from "../../istio-api/decode/decode-object.ts";
import { createSnapshotPublisher } from "./config-snapshot.ts";
import type { ObjectPatch } from "./kind-table.ts";

const made = (name: string, creationTime: number, weight: number): AnyConfigObject => {
  const { object } = decodeObject(workloadEntry(name, { weight }), { defaultNamespace: "default" });
  if (object === undefined) throw new Error(`${name} cannot be decoded`);
  return Object.freeze({ ...object, creationTime }) as AnyConfigObject;
};
const shown = (objects: readonly AnyConfigObject[]) =>
  objects.map(({ name, creationTime, spec }) => `${name} ${creationTime} ${(spec as { weight: number }).weight}`);

test("whatever is applied piece by piece ends as the same objects published at once, in the same order", () => {
  const name = fc.constantFrom("a", "b", "c", "d", "e");
  const patch = fc.record({ name, age: fc.nat(3), weight: fc.nat(2), isGone: fc.boolean(), reads: fc.boolean() });
  fc.assert(
    fc.property(fc.array(fc.array(patch, { maxLength: 4 }), { maxLength: 12 }), (rounds) => {
      const publisher = createSnapshotPublisher();
      const expected = new Map<string, AnyConfigObject>();
      for (const round of rounds) {
        const patches = round.map(({ name: of, age, weight, isGone }): ObjectPatch => {
          const object = made(of, age, weight);
          return [object, isGone ? undefined : object];
        });
        for (const [ref, object] of patches) {
          if (object === undefined) expected.delete(objectKey(ref));
          else expected.set(objectKey(ref), object);
        }
        publisher.apply([...new Map(patches.map((each) => [objectKey(each[0]), each])).values()], []);
        // Lists are made when they are first asked for; both ways of making them must agree.
        if (round.some(({ reads }) => reads)) publisher.snapshot.list("WorkloadEntry", "prod");
      }
      const whole = createSnapshotPublisher();
      whole.publish(expected, []);
      for (const namespace of [undefined, "prod"])
        expect(shown(publisher.snapshot.list("WorkloadEntry", namespace))).toEqual(
          shown(whole.snapshot.list("WorkloadEntry", namespace)),
        );
      expect(publisher.snapshot.all()).toHaveLength(expected.size);
    }),
  );
});

test("a snapshot does not change with the next one, and kinds without a change stay the same lists", () => {
  const publisher = createSnapshotPublisher();
  publisher.apply([[made("a", 1, 1), made("a", 1, 1)]], []);
  const before = publisher.snapshot;
  const [entries, groups] = [before.list("WorkloadEntry"), before.list("WorkloadGroup")];
  publisher.apply([[made("b", 2, 1), made("b", 2, 1)]], []);
  expect(shown(before.list("WorkloadEntry"))).toEqual(["a 1 1"]);
  expect(before.list("WorkloadEntry")).toBe(entries);
  expect(publisher.snapshot.list("WorkloadGroup")).toBe(groups);
  expect(publisher.snapshot.list("WorkloadEntry")[0]).toBe(entries[0]);
});
