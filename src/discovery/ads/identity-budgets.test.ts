import { expect, test } from "vitest";
import { MetricRegistry } from "../../base/metric-registry.ts";
import { createNameList, type NameList } from "../../xds/name-list.ts";
import { createIdentityBudgets, type IdentityLimits, type StreamAccount } from "./identity-budgets.ts";

const WEB = "spiffe://cluster.local/ns/shop/sa/web";
const OTHER = "spiffe://cluster.local/ns/shop/sa/other";
const names = (prefix: string, count: number) =>
  createNameList(Array.from({ length: count }, (_, at) => `${prefix}${at}`));

function setUp(limits: Partial<IdentityLimits>) {
  const refused: string[] = [];
  const counter = new MetricRegistry().counter({ name: "pilot_refusals_total", help: "-", labels: ["limit"] });
  const budgets = createIdentityBudgets(
    { maxStreams: 0, maxNames: 0, maxNameBytes: 0, ...limits },
    { ...counter, inc: (labels) => void refused.push(...(labels ?? [])) },
  );
  const open = (identity: string): StreamAccount => {
    const account = budgets.open(identity);
    if ("refusal" in account) throw new Error(account.refusal);
    return account;
  };
  return { open, refused };
}

test("one stream more than allowed is refused with the limit; another identity, and one after a stream has ended, is not", () => {
  const { open, refused } = setUp({ maxStreams: 2 });
  const first = open(WEB);
  open(WEB);
  expect(() => open(WEB)).toThrow(`${WEB} has 2 streams, at most 2 are allowed`);
  expect(refused).toEqual(["streams"]);
  open(OTHER);
  first.close();
  open(WEB);
});

test("names count over all streams and types of an identity", () => {
  const { open, refused } = setUp({ maxNames: 10 });
  const [first, second] = [open(WEB), open(WEB)];
  expect(first.hold("EDS", names("a", 4))).toBeUndefined();
  expect(second.hold("EDS", names("b", 4))).toBeUndefined();
  const refusal = `${WEB} subscribes to 11 names on all its streams, at most 10 are allowed`;
  expect(second.hold("RDS", names("c", 3))).toBe(refusal);
  expect(refused).toEqual(["names"]);
  expect(open(OTHER).hold("EDS", names("c", 10))).toBeUndefined();
  expect(first.hold("EDS", undefined)).toBeUndefined();
  expect(second.hold("RDS", names("c", 3))).toBeUndefined();
});

test("what was refused takes nothing, and what was held before is still held", () => {
  const { open } = setUp({ maxNames: 10 });
  const account = open(WEB);
  account.hold("EDS", names("a", 8));
  expect(account.hold("EDS", names("b", 11))).toMatch(/11 names/);
  expect(account.hold("RDS", names("c", 3))).toMatch(/11 names/);
  expect(account.hold("RDS", names("c", 2))).toBeUndefined();
});

test("equal lists of replicas are one list, until the last of them is given back", () => {
  const { open } = setUp({ maxNames: 10 });
  const shared = names("a", 10);
  const replicas = Array.from({ length: 100 }, () => open(WEB));
  for (const replica of replicas) expect(replica.hold("EDS", shared)).toBeUndefined();
  expect(open(WEB).hold("EDS", names("b", 1))).toMatch(/11 names/);
  for (const replica of replicas) replica.close();
  expect(open(WEB).hold("EDS", names("b", 10))).toBeUndefined();
});

test("few long names are limited by their bytes", () => {
  const { open, refused } = setUp({ maxNameBytes: 1000 });
  const refusal = `${WEB} subscribes to names of 1001 bytes on all its streams, at most 1000 are allowed`;
  expect(open(WEB).hold("EDS", createNameList(["x".repeat(1001)]))).toBe(refusal);
  expect(refused).toEqual(["bytes"]);
});

test("0 means no limit", () => {
  const { open } = setUp({});
  expect(open(WEB).hold("EDS", names("a", 1000))).toBeUndefined();
});

const encoded = ({ list }: NameList) => ({
  count: list.length,
  bytes: list.join("").length,
  [Symbol.iterator]: () => list[Symbol.iterator](),
});

test("names that would go beyond the budget are refused by their number and bytes, before they are a list", () => {
  const { open, refused } = setUp({ maxNames: 10, maxNameBytes: 100 });
  const [first, second] = [open(WEB), open(WEB)];
  first.hold("EDS", names("a", 8));
  const refusal = `${WEB} subscribes to 11 names on all its streams, at most 10 are allowed`;
  expect(second.foresee("EDS", encoded(names("b", 3)), "sotw")).toBe(refusal);
  expect(second.foresee("EDS", encoded(createNameList(["x".repeat(85)])), "sotw")).toMatch(/names of 101 bytes/);
  expect(refused).toEqual(["names", "bytes"]);
  expect(second.foresee("EDS", encoded(names("b", 2)), "sotw")).toBeUndefined();
});

test("a list in place of the stream's own is foreseen without it, names added to it are foreseen with it", () => {
  const { open } = setUp({ maxNames: 10 });
  const account = open(WEB);
  account.hold("EDS", names("a", 8));
  expect(account.foresee("EDS", encoded(names("b", 10)), "sotw")).toBeUndefined();
  expect(account.foresee("EDS", encoded(names("b", 3)), "delta")).toMatch(/11 names/);
  expect(account.foresee("EDS", encoded(names("a", 10)), "delta")).toBeUndefined();
});

test("a list that a replica holds is not foreseen as another one", () => {
  const { open } = setUp({ maxNames: 10 });
  const [first, second, third] = [open(WEB), open(WEB), open(WEB)];
  for (const replica of [first, second]) replica.hold("EDS", names("a", 10));
  expect(third.foresee("EDS", encoded(names("a", 10)), "sotw")).toBeUndefined();
  expect(second.foresee("EDS", encoded(names("a", 10)), "sotw")).toBeUndefined();
  expect(third.foresee("EDS", encoded(names("b", 10)), "sotw")).toMatch(/20 names/);
});
