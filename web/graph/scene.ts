import { computed, effect, signal } from "@preact/signals";
import { grouped, hidden, hideIdle } from "../state/preferences.ts";
import { model } from "../state/replay.ts";
import { selection } from "../state/selection.ts";
import { type Box, buildCurves, type Curve } from "./edge-geometry.ts";
import { type Card, filterGraph, matches } from "./graph-model.ts";
import {
  acrossSize,
  arrange,
  CARD_WIDTH,
  type Direction,
  type Layout,
  type LayoutNode,
  type Position,
  settle,
  turn,
  turnBack,
} from "./layout.ts";
import type { Viewport } from "./pan-zoom.ts";

export const find = signal("");
export const viewport = signal<Viewport>({ scale: 1, left: 0, top: 0 });
/** What the pointer is over: a card's id or an edge's. */
export const hovered = signal<{ readonly kind: "card" | "edge"; readonly id: string } | undefined>(undefined);
/** Shares of a service that are being dragged on an edge: versions' weights by card. */
export const dragging = signal<
  { readonly card: string; readonly weights: Readonly<Record<string, number>> } | undefined
>(undefined);

export const visible = computed(() => filterGraph(model.value, { hidden: hidden.value, hideIdle: hideIdle.value }));
export const cardsById = computed(() => new Map(visible.value.cards.map((card) => [card.id, card])));

/** By the shape of the window. */
export const direction = signal<Direction>("right");

/** One layout for each way to look at the graph: by namespaces or not, in a wide window or a tall one. Each stays as it was. */
const layouts = (["right", "down"] as const).flatMap((way) =>
  [false, true].map((byNamespace) => ({ way, byNamespace, places: signal<Layout>(new Map()) })),
);
const current = computed(
  () => layouts.find(({ way, byNamespace }) => way === direction.value && byNamespace === grouped.value) ?? layouts[0],
);
/** Cards that had no edge when they were placed; they get a better place with their first one. */
const lone = new Set<string>();

export const layout = computed(
  (): Layout =>
    new Map([...(current.value?.places.value ?? [])].map(([id, place]) => [id, turn(place, direction.value)])),
);

export const curves = computed(() => buildCurves(visible.value.links, cardsById.value, layout.value, direction.value));

/** Places new cards whenever the graph changes. Runs as long as the page. */
export function startLayout(): void {
  effect(() => {
    const { cards, links } = model.value;
    if (cards.length === 0) return;
    for (const { way, byNamespace, places } of layouts) {
      const nodes = cards.map((card) => toNode(card, byNamespace, way));
      const known = new Map(places.peek());
      for (const id of lone) if (links.some((link) => link.from === id || link.to === id)) known.delete(id);
      const next = settle(known, nodes, links);
      if (!isSame(places.peek(), next)) places.value = next;
    }
    for (const { id } of cards)
      if (links.some((link) => link.from === id || link.to === id)) lone.delete(id);
      else lone.add(id);
  });
}

/** A fresh layout of everything, when the user asks for it. */
export function rearrange(): void {
  const { cards, links } = visible.peek();
  const target = current.peek();
  if (target === undefined) return;
  target.places.value = arrange(
    cards.map((card) => toNode(card, target.byNamespace, target.way)),
    links,
  );
}

export function moveCard(id: string, position: Position): void {
  const target = current.peek();
  if (target === undefined) return;
  target.places.value = new Map(target.places.peek()).set(id, turnBack(position, target.way));
  lone.delete(id);
}

function toNode(card: Card, byNamespace: boolean, way: Direction): LayoutNode {
  return {
    id: card.id,
    height: acrossSize(card.height, way),
    group: byNamespace ? card.node.namespace : "",
    isFanned: way === "right" && card.rows.length > 1,
  };
}

function isSame(a: Layout, b: Layout): boolean {
  if (a.size !== b.size) return false;
  return [...b].every(([id, { x, y }]) => a.get(id)?.x === x && a.get(id)?.y === y);
}

export const boxes = computed((): readonly (Box & { readonly id: string; readonly namespace: string })[] =>
  visible.value.cards.flatMap((card) => {
    const at = layout.value.get(card.id);
    return at === undefined
      ? []
      : [{ ...at, id: card.id, namespace: card.node.namespace, width: CARD_WIDTH, height: card.height }];
  }),
);

/** Around everything that is shown. */
export const bounds = computed((): Box => around(boxes.value, 0));

/** Frames of the namespaces, when cards are grouped by them. */
export const frames = computed((): readonly (Box & { readonly namespace: string })[] => {
  if (!grouped.value) return [];
  const names = [...new Set(boxes.value.map((box) => box.namespace))].sort();
  return names.map((namespace) => ({
    namespace,
    ...around(
      boxes.value.filter((box) => box.namespace === namespace),
      22,
    ),
  }));
});

function around(all: readonly Box[], margin: number): Box {
  if (all.length === 0) return { x: 0, y: 0, width: 1, height: 1 };
  const [left, top] = [Math.min(...all.map((box) => box.x)), Math.min(...all.map((box) => box.y))];
  const right = Math.max(...all.map((box) => box.x + box.width));
  const bottom = Math.max(...all.map((box) => box.y + box.height));
  return { x: left - margin, y: top - margin, width: right - left + 2 * margin, height: bottom - top + 2 * margin };
}

/** Cards in full light: what a search found, or what the pointer or the selection is about; undefined when nothing is dimmed. */
export const lit = computed((): ReadonlySet<string> | undefined => {
  const { cards, links } = visible.value;
  if (find.value.trim() !== "")
    return new Set(cards.filter((card) => matches(card, find.value)).map((card) => card.id));
  const over = hovered.value;
  if (over?.kind !== "card") return undefined;
  const near = links.filter((link) => link.from === over.id || link.to === over.id);
  return new Set([over.id, ...near.flatMap((link) => [link.from, link.to])]);
});

export function isEdgeDimmed({ link }: Curve): boolean {
  const set = lit.value;
  if (set === undefined) return false;
  const over = hovered.value;
  if (find.value.trim() === "" && over?.kind === "card") return link.from !== over.id && link.to !== over.id;
  return !set.has(link.from) && !set.has(link.to);
}

export function isEdgeSelected({ link }: Curve): boolean {
  const { value } = selection;
  if (value.kind === "edge" && value.id === link.id) return true;
  const over = hovered.value;
  return (
    (over?.kind === "edge" && over.id === link.id) ||
    (over?.kind === "card" && visible.value.links.length > 60 && (link.from === over.id || link.to === over.id))
  );
}
