import { expect, test } from "vitest";
import type { TrafficEdge, TrafficGraph } from "../../mesh/index.ts";
import { isWhole, trafficText } from "./top.ts";

const NODE = { namespace: "shop", workloads: [], ready: 1, reasons: [] };
const EDGE: TrafficEdge = {
  id: "",
  from: "front",
  to: "catalogue",
  protocol: "http",
  rps: 0,
  errorShare: 0,
  clientErrorShare: 0,
  faultShare: 0,
  connectionsPerSecond: 0,
  openConnections: 1,
  sentBytesPerSecond: 0,
  receivedBytesPerSecond: 0,
  retriesPerSecond: 0,
  overflowsPerSecond: 0,
};
const graph = (edges: readonly TrafficEdge[]): TrafficGraph => ({
  at: Date.parse("2026-11-17T20:15:30Z"),
  windowMs: 4000,
  nodes: [
    { ...NODE, id: "front", kind: "service", label: "front" },
    { ...NODE, id: "catalogue", kind: "service", label: "catalogue" },
    { ...NODE, id: "catalogue v2", kind: "version", label: "v2", service: "catalogue", version: "v2" },
  ],
  edges,
  stale: [],
});

test("edges are listed with the busiest first, versions by name of their service", () => {
  const slow = { ...EDGE, rps: 4.25, errorShare: 0.5, p50Ms: 3, p99Ms: 120.4, mtlsShare: 1 };
  const text = trafficText(graph([slow, { ...EDGE, to: "catalogue v2", rps: 120 }]), 10);
  expect(text).toBe(`20:15:30  124 requests/s on 2 edges
FROM   TO            PROTOCOL  REQ/S  ERRORS  4XX  P50     P99     OPEN  MTLS
front  catalogue v2  http      120    0 %     0 %  -       -       1     -
front  catalogue     http      4.3    50.0 %  0 %  3.0 ms  120 ms  1     100 %
`);
});

test("TCP has no requests, and what does not fit is counted", () => {
  const text = trafficText(
    graph([
      { ...EDGE, rps: 1 },
      { ...EDGE, protocol: "tcp", openConnections: 3 },
    ]),
    1,
  );
  expect(text.split("\n").slice(2)).toEqual([expect.stringContaining("http"), "and 1 more", ""]);
  expect(trafficText(graph([{ ...EDGE, protocol: "tcp" }]), 1)).toMatch(/tcp +- +- +- +- +- +1 +-/);
});

test("silence and workloads without figures are said", () => {
  const quiet = { ...graph([]), stale: [{ workload: "front", reason: "its agent has not answered yet" }] };
  expect(trafficText(quiet, 10)).toBe(
    "20:15:30  0.0 requests/s on 0 edges\nnothing was sent in the last seconds\nfront: no figures: its agent has not answered yet\n",
  );
});

const BUSY = { ...EDGE, rps: 10 };
const TIMED = { ...BUSY, p50Ms: 1, p99Ms: 2 };
test.each([
  { edges: [TIMED], seen: 3, whole: false, when: "before histograms can have come" },
  {
    edges: [TIMED, EDGE, { ...BUSY, protocol: "tcp" as const }],
    seen: 4,
    whole: true,
    when: "when all that have requests have latencies",
  },
  { edges: [TIMED, BUSY], seen: 7, whole: false, when: "while one lacks them" },
  { edges: [TIMED, BUSY], seen: 8, whole: true, when: "when that one was waited for long enough" },
])("one snapshot alone is whole $when: $whole", ({ edges, seen, whole }) => {
  expect(isWhole(graph(edges), seen)).toBe(whole);
});
