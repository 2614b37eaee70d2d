import { expect, test } from "vitest";
import { arrange, CARD_WIDTH, type Layout, type LayoutEdge, type LayoutNode, settle } from "./layout.ts";

const node = (id: string, group = "", height = 80): LayoutNode => ({ id, group, height });
const edges = (...pairs: readonly string[]): readonly LayoutEdge[] =>
  pairs.map((pair) => ({ from: pair.split(">")[0] ?? "", to: pair.split(">")[1] ?? "" }));

const overlaps = (layout: Layout, nodes: readonly LayoutNode[]) =>
  nodes.flatMap((a, index) =>
    nodes.slice(index + 1).flatMap((b) => {
      const [p, q] = [layout.get(a.id), layout.get(b.id)];
      if (p === undefined || q === undefined) return [`${a.id} or ${b.id} has no place`];
      const apart = Math.abs(p.x - q.x) >= CARD_WIDTH || p.y + a.height <= q.y || q.y + b.height <= p.y;
      return apart ? [] : [`${a.id} and ${b.id}`];
    }),
  );

const SHOP = ["load", "front", "catalogue", "stock", "prices"].map((id) => node(id));
const CALLS = edges("load>front", "front>catalogue", "front>stock", "front>prices");

test("callers stand left of what they call", () => {
  const layout = arrange(SHOP, CALLS);
  for (const { from, to } of CALLS) expect(layout.get(from)?.x).toBeLessThan(layout.get(to)?.x ?? 0);
});

test("services that call each other in a circle have a layout", () => {
  expect(arrange([node("a"), node("b"), node("c")], edges("a>b", "b>c", "c>a", "a>a")).size).toBe(3);
});

test("sixty services with two hundred edges do not overlap", () => {
  const nodes = Array.from({ length: 60 }, (_, index) => node(`s${index}`, "", 60 + (index % 4) * 24));
  const pairs = Array.from({ length: 200 }, (_, index) => `s${(index * 7) % 60}>s${(index * 13 + 11) % 60}`);
  expect(overlaps(arrange(nodes, edges(...pairs)), nodes)).toEqual([]);
});

test("a service that comes, and one that goes, leave all others where they stood", () => {
  const before = settle(new Map(), SHOP, CALLS);
  const without = SHOP.filter(({ id }) => id !== "stock");
  const away = settle(before, without, CALLS);
  const later = settle(away, [...SHOP, node("reviews")], [...CALLS, ...edges("front>reviews")]);
  for (const { id } of SHOP) expect(later.get(id)).toEqual(before.get(id));
  expect(overlaps(later, [...SHOP, node("reviews")])).toEqual([]);
  expect(later.get("reviews")?.x).toBe(before.get("stock")?.x);
});

test("a card that grows pushes only what it would cover", () => {
  const before = settle(new Map(), SHOP, CALLS);
  const [first, second] = [...before]
    .filter(([, { x }]) => x === before.get("stock")?.x)
    .sort(([, a], [, b]) => a.y - b.y);
  const grown = SHOP.map((card) => (card.id === first?.[0] ? node(card.id, "", 160) : card));
  const after = settle(before, grown, CALLS);
  expect(overlaps(after, grown)).toEqual([]);
  for (const id of ["load", "front", first?.[0] ?? ""]) expect(after.get(id)).toEqual(before.get(id));
  expect(after.get(second?.[0] ?? "")?.y).toBeGreaterThan(second?.[1].y ?? 0);
});

test("namespaces are bands that do not cross, also after one more service came", () => {
  const nodes = [node("a", "one"), node("b", "one"), node("c", "two"), node("d", "two")];
  const before = settle(new Map(), nodes, edges("a>b", "a>c", "c>d"));
  const after = settle(before, [...nodes, node("e", "one")], edges("a>b", "a>c", "c>d", "a>e"));
  const bottom = Math.max(...["a", "b", "e"].map((id) => (after.get(id)?.y ?? 0) + 80));
  for (const id of ["c", "d"]) expect(after.get(id)?.y).toBeGreaterThan(bottom);
  for (const { id } of nodes) expect(after.get(id)).toEqual(before.get(id));
});

test("before a card that several edges of one caller end in there is room for their labels, and later cards keep to its column", () => {
  const cards = SHOP.map((card) => (card.id === "stock" ? { ...card, isFanned: true } : card));
  const before = settle(new Map(), cards, CALLS);
  const gap = (layout: Layout, from: string, to: string) =>
    (layout.get(to)?.x ?? 0) - (layout.get(from)?.x ?? 0) - CARD_WIDTH;
  expect(gap(before, "front", "stock")).toBeGreaterThan(gap(before, "load", "front"));
  expect(gap(before, "front", "prices")).toBe(gap(before, "front", "stock"));
  const after = settle(
    before,
    [...cards, node("reviews"), node("ratings")],
    [...CALLS, ...edges("front>reviews", "stock>ratings")],
  );
  for (const { id } of cards) expect(after.get(id)).toEqual(before.get(id));
  expect(after.get("reviews")?.x).toBe(before.get("stock")?.x);
  expect(gap(after, "stock", "ratings")).toBe(gap(before, "load", "front"));
});
