import { expect, test } from "vitest";
import type { GraphEdge, GraphNode } from "../../src/console/api.ts";
import { buildCurves, curveAt, placeLabels, pointAt } from "./edge-geometry.ts";
import { buildGraphModel, filterGraph, matches } from "./graph-model.ts";
import { arrange } from "./layout.ts";

const node = (id: string, more: Partial<GraphNode> = {}): GraphNode => ({
  id,
  kind: "service",
  label: id,
  namespace: "shop",
  workloads: [],
  ready: 0,
  reasons: [],
  ...more,
});
const edge = (from: string, to: string, more: Partial<GraphEdge> = {}): GraphEdge => ({
  id: `${from}>${to}`,
  from,
  to,
  protocol: "http",
  rps: 0,
  errorShare: 0,
  clientErrorShare: 0,
  faultShare: 0,
  connectionsPerSecond: 0,
  openConnections: 0,
  sentBytesPerSecond: 0,
  receivedBytesPerSecond: 0,
  retriesPerSecond: 0,
  overflowsPerSecond: 0,
  ...more,
});
const version = (service: string, label: string) =>
  node(`${service}/${label}`, { kind: "version", label, parent: service, workloads: [`${service}-${label}`] });

const nodes = [
  node("front"),
  node("front-1", { kind: "workload", parent: "front", workloads: ["front-1"] }),
  node("catalogue"),
  version("catalogue", "v10"),
  version("catalogue", "v2"),
  node("idle"),
];
const edges = [
  edge("front-1", "catalogue/v2", { rps: 8, weight: 80, errorShare: 0.5 }),
  edge("front-1", "catalogue/v10", { rps: 2, weight: 20 }),
];
const snapshot = { at: 0, windowMs: 5000, nodes, edges, stale: [] };

test("a service and its versions are one card with a row each, in the order of their numbers", () => {
  const { cards } = buildGraphModel(snapshot);
  expect(cards.map((card) => card.id)).toEqual(["catalogue", "front", "idle"]);
  expect(cards[0]?.rows).toMatchObject([
    { label: "v2", rps: 8, share: 0.8, weight: 80, errorShare: 0.5 },
    { label: "v10", rps: 2, share: 0.2, weight: 20, errorShare: 0 },
  ]);
  expect(cards[0]).toMatchObject({ inRps: 10, errorShare: 0.4, workloads: ["catalogue-v10", "catalogue-v2"] });
});

test("an edge leads from the caller's card to the row that was called", () => {
  expect(buildGraphModel(snapshot).links).toMatchObject([
    { from: "front", fromRow: -1, to: "catalogue", toRow: 0 },
    { from: "front", fromRow: -1, to: "catalogue", toRow: 1 },
  ]);
});

test("idle and hidden cards go with their edges", () => {
  const model = buildGraphModel(snapshot);
  expect(filterGraph(model, { hidden: [], hideIdle: true }).cards.map((card) => card.id)).toEqual([
    "catalogue",
    "front",
  ]);
  expect(filterGraph(model, { hidden: ["front"], hideIdle: false })).toMatchObject({
    cards: [{ id: "catalogue" }, { id: "idle" }],
    links: [],
  });
});

test("a card is found by version, workload and namespace", () => {
  const [catalogue, front] = buildGraphModel(snapshot).cards;
  if (catalogue === undefined || front === undefined) throw new Error("no cards");
  expect(["v10", "CATA", "shop", "catalogue-v2", ""].map((text) => matches(catalogue, text))).toEqual(
    Array(5).fill(true),
  );
  expect(matches(front, "v10")).toBe(false);
});

test("the curve under the pointer is found, and labels cover no other", () => {
  const { cards, links } = buildGraphModel(snapshot);
  const layout = arrange(
    cards.map(({ id, height }) => ({ id, height, group: "" })),
    links,
  );
  const curves = buildCurves(links, new Map(cards.map((card) => [card.id, card])), layout);
  const [first] = curves;
  if (first === undefined) throw new Error("no curve");
  expect(curveAt(curves, pointAt(first, 0.9), 8)?.link.id).toBe(first.link.id);
  expect(curveAt(curves, { x: -500, y: -500 }, 8)).toBeUndefined();
  const labels = placeLabels([...curves, ...curves, ...curves], () => ({ width: 80, height: 18 }), []);
  for (const [index, { box }] of labels.entries())
    for (const other of labels.slice(index + 1))
      expect(Math.abs(box.y - other.box.y) >= 18 || Math.abs(box.x - other.box.x) >= 80).toBe(true);
});

test("labels of edges to three versions of one card stand on their own edge, and hide no other", () => {
  const graph = {
    at: 0,
    windowMs: 4000,
    stale: [],
    nodes: [node("front"), node("catalogue"), ...["v1", "v2", "v3"].map((label) => version("catalogue", label))],
    edges: ["v1", "v2", "v3"].map((label) => edge("front", `catalogue/${label}`, { rps: 1 })),
  };
  const { cards, links } = buildGraphModel(graph);
  const layout = arrange(
    cards.map(({ id, height, rows }) => ({ id, height, group: "", isFanned: rows.length > 1 })),
    links,
  );
  const curves = buildCurves(links, new Map(cards.map((card) => [card.id, card])), layout);
  const boxes = cards.map((card) => ({ ...(layout.get(card.id) ?? { x: 0, y: 0 }), width: 208, height: card.height }));
  const labels = placeLabels(curves, () => ({ width: 125, height: 20 }), boxes);
  expect(labels.map(({ curve }) => curve.link.toRow)).toEqual([0, 1, 2]);
  const hidden = labels.map(({ box }) =>
    curves
      .filter((curve) =>
        Array.from({ length: 201 }, (_, step) => pointAt(curve, step / 200)).some(
          ({ x, y }) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height,
        ),
      )
      .map(({ link }) => link.toRow),
  );
  expect(hidden).toEqual([[0], [1], [2]]);
});
