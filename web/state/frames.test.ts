import { expect, test } from "vitest";
import type { GraphHistory } from "../../src/console/api.ts";
import { frameAt, snapshotOfFrame, totalsOf } from "./frames.ts";

const history: GraphHistory = {
  fromAt: 0,
  toAt: 3000,
  nodes: [],
  edges: [
    { id: "a", from: "x", to: "y", protocol: "http" },
    { id: "b", from: "x", to: "z", protocol: "http" },
  ],
  columns: ["rps", "errorShare", "p99Ms"],
  frames: [
    { at: 1000, values: [[10, 0.5, null], null] },
    { at: 2000, values: [null, [30, 0, 12]] },
  ],
  marks: [],
};

test("a frame is the graph of its time: edges that were not there are absent, figures that were not measured too", () => {
  const graph = snapshotOfFrame(history, 0);
  expect(graph?.edges).toMatchObject([{ id: "a", rps: 10, errorShare: 0.5 }]);
  expect(graph?.edges[0]).not.toHaveProperty("p99Ms");
  expect(snapshotOfFrame(history, 1)?.edges).toMatchObject([{ id: "b", rps: 30, p99Ms: 12 }]);
  expect(snapshotOfFrame(history, 2)).toBeUndefined();
});

test("totals weigh errors by requests", () => {
  expect(totalsOf(history)).toEqual([
    { at: 1000, rps: 10, errorShare: 0.5 },
    { at: 2000, rps: 30, errorShare: 0 },
  ]);
});

test.each([
  { at: 0, index: 0 },
  { at: 1999, index: 0 },
  { at: 2000, index: 1 },
  { at: 9000, index: 1 },
])("at $at the frame $index was in force", ({ at, index }) => {
  expect(frameAt(history, at)).toBe(index);
});
