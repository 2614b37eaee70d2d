import { expect, test } from "vitest";
import type { GraphEdge, GraphNode } from "../../src/console/api.ts";
import { type Box, buildCurves, curveAt, placeLabels, pointAt } from "./edge-geometry.ts";
import { buildGraphModel, filterGraph, matches } from "./graph-model.ts";
import { acrossSize, arrange, type Direction, turn } from "./layout.ts";

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

/** Labels of the edges between these cards, each with how many other edges it hides. */
function labelsOf(calls: readonly (readonly [from: string, to: string])[], width: number, direction: Direction) {
  const names = [...new Set(calls.flat())];
  const nodes = names.flatMap((name) => {
    const [service = "", label] = name.split("/");
    return label === undefined ? [node(name)] : [version(service, label), node(service)];
  });
  const { cards, links } = buildGraphModel({
    at: 0,
    windowMs: 4000,
    stale: [],
    nodes: [...new Map(nodes.map((each) => [each.id, each])).values()],
    edges: calls.map(([from, to]) => edge(from, to, { rps: 1 })),
  });
  const places = arrange(
    cards.map(({ id, height, rows }) => ({
      id,
      height: acrossSize(height, direction),
      group: "",
      isFanned: direction === "right" && rows.length > 1,
    })),
    links,
  );
  const layout = new Map([...places].map(([id, position]) => [id, turn(position, direction)]));
  const curves = buildCurves(links, new Map(cards.map((card) => [card.id, card])), layout, direction);
  const boxes = cards.map((card) => ({ ...(layout.get(card.id) ?? { x: 0, y: 0 }), width: 208, height: card.height }));
  const labels = placeLabels(curves, () => ({ width, height: 20 }), boxes).map(({ curve, box }) => ({
    box,
    hides: curves.filter(
      (other) =>
        other !== curve &&
        Array.from({ length: 201 }, (_, step) => pointAt(other, step / 200)).some(
          ({ x, y }) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height,
        ),
    ).length,
  }));
  return { labels, boxes };
}

const VERSIONS = ["catalogue/v1", "catalogue/v2", "catalogue/v3"];
const callsOf = (...callers: readonly string[]) => callers.flatMap((from) => VERSIONS.map((to) => [from, to] as const));
const SHOP = [...callsOf("front"), ["load", "front"], ["front", "prices"], ["front", "stock"]] as const;

test.each([
  { what: "three versions of one card", calls: callsOf("front"), direction: "right" as const, hidden: 0 },
  { what: "three versions and two other cards", calls: SHOP, direction: "right" as const, hidden: 0 },
  { what: "three versions, by two callers", calls: callsOf("load", "front"), direction: "right" as const, hidden: 8 },
  { what: "three versions below their caller", calls: callsOf("front"), direction: "down" as const, hidden: 1 },
  { what: "three versions and two other cards below", calls: SHOP, direction: "down" as const, hidden: 1 },
])("every edge to $what has its label, none touches another or a card, and others stay in sight", (given) => {
  const { labels, boxes } = labelsOf(given.calls, 132, given.direction);
  expect(labels).toHaveLength(given.calls.length);
  const isApart = (a: Box, b: Box) =>
    a.x + a.width < b.x || b.x + b.width < a.x || a.y + a.height < b.y || b.y + b.height < a.y;
  for (const [index, { box }] of labels.entries())
    for (const other of [...boxes, ...labels.slice(index + 1).map((label) => label.box)])
      expect(isApart(box, other)).toBe(true);
  expect(labels.reduce((sum, { hides }) => sum + hides, 0)).toBeLessThanOrEqual(given.hidden);
});

test("labels of edges to the versions of one card lie apart, not edge to edge", () => {
  const { labels } = labelsOf(SHOP, 132, "right");
  const tops = labels.slice(0, 3).map(({ box }) => box.y);
  for (const [index, top] of tops.slice(1).entries()) expect(top - (tops[index] ?? 0)).toBeGreaterThanOrEqual(25);
});
