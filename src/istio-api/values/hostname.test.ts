import fc from "fast-check";
import { expect, test } from "vitest";
import { createHostCover, earlierOverlaps, hostCovers, hostsOverlap } from "./hostname.ts";

const label = fc.constantFrom("a", "b", "ab");
const host = fc
  .tuple(fc.constantFrom("", "*", "*-"), fc.array(label, { maxLength: 3 }))
  .map(([star, labels]) => (star === "*" && labels.length > 1 ? `*.${labels.join(".")}` : `${star}${labels.join(".")}`))
  .filter((name) => name !== "");
const hosts = fc.array(host, { maxLength: 8 });

test("the first host before it that overlaps is found as by comparing all of them", () => {
  fc.assert(
    fc.property(hosts, (list) => {
      const compared = list.map((name, index) => list.slice(0, index).find((other) => hostsOverlap(other, name)));
      expect(earlierOverlaps(list)).toEqual(compared);
    }),
    { numRuns: 2000 },
  );
});

test("whether some host covers a name is found as by asking each of them", () => {
  fc.assert(
    fc.property(hosts, host, (list, name) => {
      expect(createHostCover(list)(name)).toBe(list.some((outer) => hostCovers(outer, name)));
    }),
    { numRuns: 2000 },
  );
});
