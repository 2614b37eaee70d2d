import { type Card, HEADER_HEIGHT, type Link, ROW_HEIGHT } from "./graph-model.ts";
import { CARD_WIDTH, type Direction, type Layout, type Position } from "./layout.ts";

/** A cubic curve: two ends and two controls, in the coordinates of the graph. */
export interface Curve {
  readonly link: Link;
  readonly points: readonly [Position, Position, Position, Position];
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export function buildCurves(
  links: readonly Link[],
  cards: ReadonlyMap<string, Card>,
  layout: Layout,
  direction: Direction = "right",
): readonly Curve[] {
  return links.flatMap((link): Curve[] => {
    const [from, to] = [cards.get(link.from), cards.get(link.to)];
    const [start, end] = [layout.get(link.from), layout.get(link.to)];
    if (from === undefined || to === undefined || start === undefined || end === undefined) return [];
    if (direction === "down") return [{ link, points: downwards(start, from.height, end, rowPlace(to, link.toRow)) }];
    const first = { x: start.x + CARD_WIDTH, y: start.y + rowMiddle(from, link.fromRow) };
    const last = { x: end.x, y: end.y + rowMiddle(to, link.toRow) };
    const distance = last.x - first.x;
    // Backwards: out to the right, over or below the cards, in from the left.
    const isForward = distance > 40;
    const bend = isForward ? Math.max(48, distance * 0.45) : 90 + Math.min(160, -distance * 0.3);
    const lift = isForward ? 0 : last.y >= first.y ? 60 : -60;
    // Edges to the rows of one card part early and arrive side by side, so that each has its label on it.
    const [out, into] = isForward && link.toRow >= 0 ? [bend * 0.4, distance * 0.8] : [bend, bend];
    return [
      {
        link,
        points: [first, { x: first.x + out, y: first.y + lift }, { x: last.x - into, y: last.y - lift }, last],
      },
    ];
  });
}

/** Where on the upper side of its target an edge ends, 0 to 1: rows lie below each other, so their edges end beside each other. */
function rowPlace(card: Card, row: number): number {
  return row < 0 ? 0.5 : (row + 1) / (card.rows.length + 1);
}

function downwards(start: Position, height: number, end: Position, place: number): Curve["points"] {
  const first = { x: start.x + CARD_WIDTH / 2, y: start.y + height };
  const last = { x: end.x + CARD_WIDTH * place, y: end.y };
  const distance = last.y - first.y;
  const bend = distance > 30 ? Math.max(36, distance * 0.45) : 80;
  const lift = distance > 30 ? 0 : last.x >= first.x ? 60 : -60;
  return [first, { x: first.x + lift, y: first.y + bend }, { x: last.x - lift, y: last.y - bend }, last];
}

/** Middle of a row, or of the card's header, below the card's top. */
function rowMiddle(card: Card, row: number): number {
  return row >= 0 ? HEADER_HEIGHT + row * ROW_HEIGHT + ROW_HEIGHT / 2 : Math.min(card.height, HEADER_HEIGHT) / 2;
}

export function pointAt({ points: [a, b, c, d] }: Curve, t: number): Position {
  const u = 1 - t;
  const [i, j, k, l] = [u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t];
  return { x: i * a.x + j * b.x + k * c.x + l * d.x, y: i * a.y + j * b.y + k * c.y + l * d.y };
}

/** The curve that is nearest to a point, when one is within reach. */
export function curveAt(curves: readonly Curve[], point: Position, reach: number): Curve | undefined {
  let best: Curve | undefined;
  let least = reach;
  for (const curve of curves) {
    const [a, , , d] = curve.points;
    const [low, high] = [Math.min(a.y, d.y) - reach - 70, Math.max(a.y, d.y) + reach + 70];
    if (point.y < low || point.y > high) continue;
    for (let step = 0; step <= 24; step++) {
      const at = pointAt(curve, step / 24);
      const distance = Math.hypot(at.x - point.x, at.y - point.y);
      if (distance < least) [best, least] = [curve, distance];
    }
  }
  return best;
}

/** Where along the curve its label is best. */
const BEST_PLACE = {
  /** Curves to the rows of a card arrive side by side. */
  row: 0.84,
  /** Curves of one caller have parted here. */
  parting: 0.6,
  /** Curves of several callers have not met yet. */
  meeting: 0.42,
} as const;
/** Others that are tried, from the caller's end to the other. */
const PLACES = Array.from({ length: 24 }, (_, step) => 0.2 + step * 0.03);
/** Which part of a label lies left of its curve: in the middle where it can be, else the curve goes through one of its ends. */
const ANCHORS = [0.5, 0.15, 0.85];
/** Points of a curve that show whether a label would hide it. */
const STEPS = 48;
/** Between labels, and between a label and a card. */
const GAP = 2;
/** Labels that are closer than this look like one. */
const ROOM = 5;
/** A second look at each label, when all others have a place. */
const LOOKS = 3;

export interface PlacedLabel {
  readonly curve: Curve;
  readonly box: Box;
}

/**
 * Labels that cover neither a card nor another label, and of other curves as few as can be: a label on two edges says nothing about either. One
 * that finds no room is left out. The important ones come first.
 */
export function placeLabels(
  curves: readonly Curve[],
  size: (curve: Curve) => { readonly width: number; readonly height: number },
  obstacles: readonly Box[],
): readonly PlacedLabel[] {
  const lines = curves.map((curve) => Array.from({ length: STEPS + 1 }, (_, step) => pointAt(curve, step / STEPS)));
  const extents = lines.map(extentOf);
  const hiddenBy = (box: Box, own: number) =>
    lines.filter((line, at) => at !== own && touches(box, extents[at] ?? box) && line.some((point) => isIn(point, box)))
      .length;
  const choices = curves.map((curve, own) =>
    placesOf(curve, size(curve), BEST_PLACE[waysOf(curve, curves)])
      .filter(({ box }) => !obstacles.some((other) => touches(box, other)))
      .map((place) => ({ ...place, hides: hiddenBy(place.box, own) }))
      .sort((a, b) => a.hides - b.hides || a.distance - b.distance),
  );
  const chosen: (Box | undefined)[] = curves.map(() => undefined);
  const inTheWay = (box: Box, own: number, gap = GAP) =>
    chosen.flatMap((other, at) => (other !== undefined && at !== own && touches(box, other, gap) ? [at] : []));
  const freePlace = (own: number) => {
    const free = choices[own]?.filter(({ box }) => inTheWay(box, own).length === 0) ?? [];
    // Also a place farther off, if no more is hidden there.
    const hasRoom = ({ box, hides }: Place) => hides === free[0]?.hides && inTheWay(box, own, ROOM).length === 0;
    return (free.find(hasRoom) ?? free[0])?.box;
  };
  for (let look = 0; look < LOOKS; look += 1)
    curves.forEach((_, own) => {
      chosen[own] = freePlace(own);
      // One other label may step aside.
      for (const { box } of chosen[own] === undefined ? (choices[own] ?? []) : []) {
        const [other, ...more] = inTheWay(box, own);
        if (other === undefined || more.length > 0) continue;
        chosen[own] = box;
        const aside = freePlace(other);
        if (aside !== undefined) {
          chosen[other] = aside;
          break;
        }
        chosen[own] = undefined;
      }
    });
  return curves.flatMap((curve, at) => {
    const box = chosen[at];
    return box === undefined ? [] : [{ curve, box }];
  });
}

interface Place {
  readonly box: Box;
  /** From where the label is best. */
  readonly distance: number;
  /** Curves of others. */
  readonly hides: number;
}

function placesOf(
  curve: Curve,
  { width, height }: Pick<Box, "width" | "height">,
  best: number,
): readonly Omit<Place, "hides">[] {
  return PLACES.flatMap((t) => {
    const { x, y } = pointAt(curve, t);
    return ANCHORS.map((anchor) => ({
      box: { x: x - width * anchor, y: y - height / 2, width, height },
      distance: Math.abs(t - best) + (anchor === 0.5 ? 0 : 0.2),
    }));
  });
}

function extentOf(line: readonly Position[]): Box {
  const [xs, ys] = [line.map(({ x }) => x), line.map(({ y }) => y)];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

function waysOf({ link, points }: Curve, curves: readonly Curve[]): keyof typeof BEST_PLACE {
  // Downwards rows lie beside each other, and their labels would not.
  if (link.toRow >= 0 && points[3].x - points[2].x > Math.abs(points[3].y - points[2].y)) return "row";
  const others = curves.filter(({ link: other }) => other !== link);
  const parting = others.filter(({ link: other }) => other.from === link.from).length;
  const meeting = others.filter(({ link: other }) => other.to === link.to && other.toRow === link.toRow).length;
  return meeting > parting ? "meeting" : "parting";
}

function isIn({ x, y }: Position, box: Box): boolean {
  return x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
}

function touches(a: Box, b: Box, gap = GAP): boolean {
  return (
    a.x < b.x + b.width + gap && b.x < a.x + a.width + gap && a.y < b.y + b.height + gap && b.y < a.y + a.height + gap
  );
}
