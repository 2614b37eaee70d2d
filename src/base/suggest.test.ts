import fc from "fast-check";
import { expect, test } from "vitest";
import { suggest } from "./suggest.ts";

const NAMES = ["istio-iptables", "istio-clean-iptables", "proxy", "request", "version", "wait"];

test.each([
  { typed: "prox", names: ["proxy"] },
  { typed: "PROXI", names: ["proxy"] },
  { typed: "verison", names: ["version"] },
  { typed: "istio", names: ["istio-iptables", "istio-clean-iptables"] },
  { typed: "wat", names: ["wait"] },
  { typed: "foo", names: [] },
  { typed: "requestsss", names: [] },
])("$typed is close to $names", ({ typed, names }) => {
  expect(suggest(typed, NAMES)).toEqual(names);
});

test("close is what some two letters inserted, removed or replaced make equal", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 6 });
  fc.assert(
    fc.property(word, word, (typed, name) => {
      const isClose = editsOf(editsOf([typed])).has(name) || name.startsWith(typed);
      expect(suggest(typed, [name])).toEqual(isClose ? [name] : []);
    }),
  );
});

/** The words and all that are one letter from one of them. */
function editsOf(words: Iterable<string>): Set<string> {
  const edited = new Set(words);
  for (const word of words)
    for (let at = 0; at <= word.length; at += 1)
      for (const letter of ["", "a", "b"]) {
        edited.add(word.slice(0, at) + letter + word.slice(at));
        edited.add(word.slice(0, at) + letter + word.slice(at + 1));
      }
  return edited;
}
