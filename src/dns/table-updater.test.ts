import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { until } from "../../test/support/wait/until.ts";
import { proxyScope } from "./core/alternate-hosts.ts";
import { createTableUpdater } from "./table-updater.ts";

const options = { scope: proxyScope("ns1", "ns1.svc.cluster.local"), ttlSeconds: 30, altHosts: true, wildcards: true };
const tableOf = (count: number) => ({
  table: Object.fromEntries(Array.from({ length: count }, (_, index) => [`h${index}.example`, { ips: ["1.1.1.1"] }])),
});

function record() {
  const sizes: number[] = [];
  const updater = createTableUpdater(options, (table) => sizes.push(table.hosts.size));
  return { sizes, updater };
}

test("a small table is in force at once", () => {
  const { sizes, updater } = record();
  updater.update(tableOf(3));
  updater.update(tableOf(4));
  expect(sizes).toEqual([3, 4]);
});

test("a large table lets others have their turn", async () => {
  const { sizes, updater } = record();
  updater.update(tableOf(3_500));
  expect(sizes).toEqual([]);
  for (let turn = 0; turn < 2; turn++) await nextTurn();
  expect(sizes).toEqual([]);
  await until(() => expect(sizes).toEqual([3_500]));
});

test("pushes during a build leave only the last one to do", async () => {
  const { sizes, updater } = record();
  for (const count of [2_500, 10, 2_600, 20]) updater.update(tableOf(count));
  await until(() => expect(sizes).toEqual([2_500, 20]));
  updater.update(tableOf(30));
  expect(sizes.at(-1)).toBe(30);
});

test("a stopped updater builds no further", async () => {
  const { sizes, updater } = record();
  updater.update(tableOf(5_000));
  updater.stop();
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  expect(sizes).toEqual([]);
});
