import { milliseconds, percent, rate } from "../format.ts";
import { type Box, type Curve, type PlacedLabel, placeLabels, pointAt } from "./edge-geometry.ts";
import type { Viewport } from "./pan-zoom.ts";

/** Colours of the edges, read from the style sheet so that both themes fit. */
export interface Palette {
  readonly edge: string;
  readonly idle: string;
  readonly warn: string;
  readonly bad: string;
  readonly accent: string;
  readonly label: string;
  readonly labelBack: string;
  readonly muted: string;
  readonly lock: string;
}

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    edge: color("edge"),
    idle: color("edge-idle"),
    warn: color("warn"),
    bad: color("bad"),
    accent: color("accent"),
    label: color("text"),
    labelBack: color("canvas"),
    muted: color("text-muted"),
    lock: color("ok"),
  };
}

export interface EdgeLook {
  readonly palette: Palette;
  /** Edges that are drawn faintly: a search, or the pointer, is about others. */
  isDimmed(curve: Curve): boolean;
  isSelected(curve: Curve): boolean;
  /** A weight that is being dragged, in percent. */
  dragged(curve: Curve): number | undefined;
}

export interface Surface {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly ratio: number;
}

/** Beyond this only the edges that the user points at have labels. */
const LABELS_UP_TO = 60;

export function drawEdges(surface: Surface, view: Viewport, curves: readonly Curve[], look: EdgeLook): void {
  begin(surface, view);
  for (const curve of curves) drawCurve(surface.context, curve, look);
}

/** Labels of the curves where there is room for them: not over cards, not over each other. */
export type DrawLabels = (
  surface: Surface,
  view: Viewport,
  curves: readonly Curve[],
  obstacles: readonly Box[],
  look: EdgeLook,
) => void;

/** Places are looked for when something about the labels has changed, not with every frame of a view that moves. */
export function createLabels(): DrawLabels {
  let last: { readonly inputs: readonly unknown[]; readonly placed: readonly PlacedLabel[] } | undefined;
  return (surface, view, curves, obstacles, look) => {
    const { context } = surface;
    begin(surface, view);
    // Too small to read from afar.
    if (view.scale < 0.45) return;
    const ordered = [...curves]
      .filter((curve) => !look.isDimmed(curve))
      .filter((curve) => curves.length <= LABELS_UP_TO || look.isSelected(curve))
      .sort((a, b) => importance(b, look) - importance(a, look));
    context.font = FONT;
    const widths = new Map(ordered.map((curve) => [curve, labelWidth(context, curve, look)]));
    const inputs = [obstacles, ...[...widths].flat()];
    if (last?.inputs.length !== inputs.length || inputs.some((input, at) => input !== last?.inputs[at]))
      last = {
        inputs,
        placed: placeLabels(ordered, (curve) => ({ width: widths.get(curve) ?? 0, height: 20 }), obstacles),
      };
    for (const label of last.placed) drawLabel(context, label, look);
  };
}

/** Requests on their way: dots that move along the curves, faster where answers are fast. `time` in seconds. */
export function drawFlow(
  surface: Surface,
  view: Viewport,
  curves: readonly Curve[],
  look: EdgeLook,
  time: number,
): void {
  const { context } = surface;
  begin(surface, view);
  const budget = Math.max(1, curves.length / 60);
  for (const curve of curves) {
    const { edge } = curve.link;
    const active = edge.rps > 0 || edge.receivedBytesPerSecond + edge.sentBytesPerSecond > 0;
    if (!active || look.isDimmed(curve)) continue;
    const count = Math.max(1, Math.round(Math.min(6, 1 + Math.log2(1 + edge.rps)) / budget));
    const speed = edge.p99Ms !== undefined && edge.p99Ms > 1000 ? 0.12 : 0.3;
    for (let dot = 0; dot < count; dot++) {
      const t = (time * speed + dot / count + phase(curve.link.id)) % 1;
      const { x, y } = pointAt(curve, t);
      // As many dots are red as requests fail.
      const failed = (dot + 0.5) / count < edge.errorShare;
      context.fillStyle = failed ? look.palette.bad : look.palette.accent;
      context.beginPath();
      context.arc(x, y, failed ? 3.4 : 2.6, 0, 2 * Math.PI);
      context.fill();
    }
  }
}

function begin({ context, width, height, ratio }: Surface, view: Viewport): void {
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width * ratio, height * ratio);
  context.setTransform(view.scale * ratio, 0, 0, view.scale * ratio, view.left * ratio, view.top * ratio);
}

/** Edges begin their dots at different places. */
function phase(id: string): number {
  let hash = 0;
  for (let index = 0; index < id.length; index++) hash = (hash * 31 + id.charCodeAt(index)) % 997;
  return hash / 997;
}

function drawCurve(context: CanvasRenderingContext2D, curve: Curve, look: EdgeLook): void {
  const { edge } = curve.link;
  const [a, b, c, d] = curve.points;
  const idle = edge.rps === 0 && edge.receivedBytesPerSecond + edge.sentBytesPerSecond === 0;
  context.globalAlpha = look.isDimmed(curve) ? 0.14 : 1;
  context.strokeStyle = edgeColor(curve, look);
  context.lineWidth = look.isSelected(curve) ? 3.5 : idle ? 1 : 1.3 + Math.min(2.6, Math.log10(1 + edge.rps) * 1.2);
  context.setLineDash(idle ? [3, 5] : edge.protocol === "tcp" ? [8, 4] : []);
  context.beginPath();
  context.moveTo(a.x, a.y);
  // An edge arrives from the left, or from above.
  const down = d.y - c.y > Math.abs(d.x - c.x);
  const [ex, ey] = down ? [d.x, d.y - 7] : [d.x - 7, d.y];
  context.bezierCurveTo(b.x, b.y, c.x, c.y, ex, ey);
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = context.strokeStyle;
  context.beginPath();
  context.moveTo(down ? d.x : d.x - 1, down ? d.y - 1 : d.y);
  context.lineTo(down ? d.x - 4.5 : d.x - 9, down ? d.y - 9 : d.y - 4.5);
  context.lineTo(down ? d.x + 4.5 : d.x - 9, down ? d.y - 9 : d.y + 4.5);
  context.fill();
  context.globalAlpha = 1;
}

function edgeColor(curve: Curve, { palette, isSelected, dragged }: EdgeLook): string {
  const { edge } = curve.link;
  if (dragged(curve) !== undefined) return palette.accent;
  if (edge.errorShare >= 0.05) return palette.bad;
  if (edge.errorShare > 0) return palette.warn;
  if (isSelected(curve)) return palette.accent;
  return edge.rps === 0 && edge.openConnections === 0 ? palette.idle : palette.edge;
}

/** Coarse, so that labels do not change places with every figure. */
function importance(curve: Curve, look: EdgeLook): number {
  if (look.isSelected(curve) || look.dragged(curve) !== undefined) return 1e9;
  const { errorShare, rps } = curve.link.edge;
  return Math.ceil(errorShare * 4) * 1e3 + Math.round(Math.log2(1 + rps));
}

const FONT = "500 11px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const PADDING = 7;
const PART_GAP = 6;
const LOCK_WIDTH = 9;
/** Widths are rounded up to it, for the same reason. */
const WIDTH_STEP = 12;

interface Part {
  readonly text: string;
  readonly color: string;
}

/** A lock is a part of its own, without text. */
function parts(curve: Curve, { palette, dragged }: EdgeLook): readonly Part[] {
  const { edge } = curve.link;
  const weight = dragged(curve);
  if (weight !== undefined) return [{ text: `${weight}%`, color: palette.accent }];
  const list: Part[] = [];
  if (edge.mtlsShare !== undefined && edge.mtlsShare >= 0.999) list.push({ text: "", color: palette.lock });
  if (edge.protocol === "tcp") list.push({ text: `${edge.openConnections} open`, color: palette.label });
  else list.push({ text: `${rate(edge.rps)}/s`, color: palette.label });
  if (edge.errorShare > 0)
    list.push({
      text: `${percent(edge.errorShare)} errors`,
      color: edge.errorShare >= 0.05 ? palette.bad : palette.warn,
    });
  else if (edge.p50Ms !== undefined && edge.rps > 0)
    list.push({ text: latency(edge.p50Ms, edge.p99Ms ?? edge.p50Ms), color: palette.muted });
  return list;
}

/** `4 / 12 ms`: median and 99th percentile, with one unit where both have the same. */
function latency(p50: number, p99: number): string {
  const [low, high] = [milliseconds(p50), milliseconds(p99)];
  const [value, unit] = low.split(" ");
  return unit === high.split(" ")[1] ? `${value} / ${high}` : `${low} / ${high}`;
}

function partWidth(context: CanvasRenderingContext2D, part: Part): number {
  return part.text === "" ? LOCK_WIDTH : context.measureText(part.text).width;
}

function labelWidth(context: CanvasRenderingContext2D, curve: Curve, look: EdgeLook): number {
  const width = textWidth(context, parts(curve, look)) + PADDING * 2;
  return Math.ceil(width / WIDTH_STEP) * WIDTH_STEP;
}

function textWidth(context: CanvasRenderingContext2D, list: readonly Part[]): number {
  return list.reduce((sum, part) => sum + partWidth(context, part) + PART_GAP, -PART_GAP);
}

function drawLabel(context: CanvasRenderingContext2D, { curve, box }: PlacedLabel, look: EdgeLook): void {
  const { palette } = look;
  context.fillStyle = palette.labelBack;
  context.strokeStyle = look.isSelected(curve) ? palette.accent : edgeColor(curve, look);
  context.lineWidth = 1;
  context.beginPath();
  context.roundRect(box.x, box.y, box.width, box.height, box.height / 2);
  context.fill();
  context.globalAlpha = 0.55;
  context.stroke();
  context.globalAlpha = 1;
  context.textBaseline = "middle";
  const list = parts(curve, look);
  let x = box.x + (box.width - textWidth(context, list)) / 2;
  const y = box.y + box.height / 2 + 0.5;
  for (const part of list) {
    if (part.text === "") drawLock(context, x, y, part.color);
    else {
      context.fillStyle = part.color;
      context.fillText(part.text, x, y);
    }
    x += partWidth(context, part) + PART_GAP;
  }
}

function drawLock(context: CanvasRenderingContext2D, x: number, y: number, color: string): void {
  context.strokeStyle = color;
  context.fillStyle = color;
  context.lineWidth = 1.4;
  context.beginPath();
  context.arc(x + 4.5, y - 2, 2.6, Math.PI, 0);
  context.stroke();
  context.beginPath();
  context.roundRect(x + 0.5, y - 1.5, 8, 6, 1.5);
  context.fill();
}
