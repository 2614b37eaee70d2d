import { effect } from "@preact/signals";
import { presentWeights, rebalance } from "../actions/weights.ts";
import { colors } from "../state/preferences.ts";
import { select } from "../state/selection.ts";
import {
  createLabels,
  drawEdges,
  drawFlow,
  type EdgeLook,
  type Palette,
  readPalette,
  type Surface,
} from "./draw-edges.ts";
import { type Curve, curveAt } from "./edge-geometry.ts";
import type { Position } from "./layout.ts";
import { zoomAt } from "./pan-zoom.ts";
import {
  bounds,
  boxes,
  cardsById,
  curves,
  direction,
  dragging,
  hovered,
  isEdgeDimmed,
  isEdgeSelected,
  viewport,
} from "./scene.ts";

export interface SurfaceElements {
  readonly frame: HTMLElement;
  readonly edges: HTMLCanvasElement;
  readonly flow: HTMLCanvasElement;
  readonly labels: HTMLCanvasElement;
  /** What moves with the view: frames below the edges, cards above. */
  readonly layers: readonly HTMLElement[];
}

export interface SurfaceOptions {
  /** Shares were dragged to these; the user is asked before anything is written. */
  onShift(card: string, weights: Readonly<Record<string, number>>): void;
  /** Whether edges to versions can be dragged. */
  canShift(): boolean;
  /** The user moved the view: it is not fitted by itself any more. */
  onMoved(): void;
  onResized(): void;
}

/** Draws edges, moves and zooms. Edges stand still on one canvas; what moves is on another that is
 * cheap to clear; labels are above both. */
export function attachSurface(elements: SurfaceElements, options: SurfaceOptions): () => void {
  const { frame, layers } = elements;
  let size = { width: 0, height: 0, ratio: 1 };
  let palette: Palette = readPalette(frame);
  let dirty = true;
  let stopped = false;
  const drawLabels = createLabels();
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const look = (): EdgeLook => ({
    palette,
    isDimmed: isEdgeDimmed,
    isSelected: isEdgeSelected,
    dragged: ({ link }) => {
      const drag = dragging.peek();
      const row = cardsById.peek().get(link.to)?.rows[link.toRow];
      return drag?.card === link.to && row !== undefined ? drag.weights[row.label] : undefined;
    },
  });
  const surfaceOf = (canvas: HTMLCanvasElement): Surface | undefined => {
    const context = canvas.getContext("2d");
    return context === null ? undefined : { context, ...size };
  };
  const redraw = () => {
    dirty = true;
  };

  const resize = () => {
    const { width, height } = frame.getBoundingClientRect();
    size = { width, height, ratio: Math.min(2, devicePixelRatio) };
    for (const canvas of [elements.edges, elements.flow, elements.labels]) {
      canvas.width = Math.round(width * size.ratio);
      canvas.height = Math.round(height * size.ratio);
    }
    direction.value = width < height * 0.8 ? "down" : "right";
    options.onResized();
    redraw();
  };
  const observer = new ResizeObserver(resize);
  observer.observe(frame);

  const readColors = () => {
    palette = readPalette(frame);
    redraw();
  };
  const disposers = [
    effect(() => {
      colors.value;
      // The attribute that they hang on is set by an effect, too.
      queueMicrotask(readColors);
    }),
    effect(() => {
      const { scale, left, top } = viewport.value;
      for (const layer of layers) layer.style.transform = `translate(${left}px, ${top}px) scale(${scale})`;
      redraw();
    }),
    effect(() => {
      curves.value;
      boxes.value;
      hovered.value;
      dragging.value;
      // Read so that they are followed: selection and search.
      for (const curve of curves.value.slice(0, 1)) [isEdgeSelected(curve), isEdgeDimmed(curve)];
      redraw();
    }),
  ];

  const frames = { count: 0 };
  Object.assign(frame, { drawnFrames: frames });
  const step = (time: number) => {
    if (stopped) return;
    const [edges, flow, labels] = [elements.edges, elements.flow, elements.labels].map(surfaceOf);
    if (dirty && edges !== undefined && labels !== undefined) {
      dirty = false;
      drawEdges(edges, viewport.peek(), curves.peek(), look());
      drawLabels(labels, viewport.peek(), curves.peek(), boxes.peek(), look());
    }
    if (flow !== undefined && !still.matches) drawFlow(flow, viewport.peek(), curves.peek(), look(), time / 1000);
    frames.count += 1;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);

  const detach = attachPointer(frame, options);
  return () => {
    stopped = true;
    observer.disconnect();
    for (const dispose of disposers) dispose();
    detach();
  };
}

function attachPointer(frame: HTMLElement, options: SurfaceOptions): () => void {
  const pointers = new Map<number, Position>();
  let gesture: { readonly curve: Curve; readonly y: number; moved: boolean } | undefined;
  const local = (event: { readonly clientX: number; readonly clientY: number }) => {
    const box = frame.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const edgeUnder = (event: PointerEvent) => {
    const { scale, left, top } = viewport.peek();
    const at = local(event);
    return curveAt(curves.peek(), { x: (at.x - left) / scale, y: (at.y - top) / scale }, 9 / scale);
  };
  const isOnBackground = (event: Event) => event.target instanceof HTMLCanvasElement || event.target === frame;

  const onDown = (event: PointerEvent) => {
    if (!isOnBackground(event) || event.button !== 0) return;
    pointers.set(event.pointerId, local(event));
    frame.setPointerCapture(event.pointerId);
    const curve = edgeUnder(event);
    gesture = curve === undefined || pointers.size > 1 ? undefined : { curve, y: event.clientY, moved: false };
  };
  const onMove = (event: PointerEvent) => {
    const before = pointers.get(event.pointerId);
    if (before === undefined) {
      if (!isOnBackground(event)) return;
      const under = edgeUnder(event);
      const known = hovered.peek();
      if (under?.link.id !== (known?.kind === "edge" ? known.id : undefined))
        hovered.value = under === undefined ? undefined : { kind: "edge", id: under.link.id };
      frame.style.cursor = under === undefined ? "" : canDrag(under) && options.canShift() ? "ns-resize" : "pointer";
      return;
    }
    const at = local(event);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    pointers.set(event.pointerId, at);
    if (other !== undefined) {
      const distance = (point: Position) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
      viewport.value = zoomAt(viewport.peek(), distance(at) / distance(before), other);
      options.onMoved();
    } else if (gesture !== undefined) {
      dragEdge(event, gesture);
    } else {
      const { scale, left, top } = viewport.peek();
      viewport.value = { scale, left: left + at.x - before.x, top: top + at.y - before.y };
      options.onMoved();
    }
  };
  /** Up gives the version more, two pixels for one percent. */
  const dragEdge = (event: PointerEvent, current: NonNullable<typeof gesture>) => {
    const card = cardsById.peek().get(current.curve.link.to);
    const row = card?.rows[current.curve.link.toRow];
    if (card === undefined || row === undefined || !options.canShift()) return;
    const distance = current.y - event.clientY;
    if (!current.moved && Math.abs(distance) < 5) return;
    current.moved = true;
    const present = presentWeights(card.rows);
    dragging.value = {
      card: card.id,
      weights: rebalance(present, row.label, (present[row.label] ?? 0) + distance / 2),
    };
  };
  const onUp = (event: PointerEvent) => {
    if (!pointers.delete(event.pointerId)) return;
    const done = gesture;
    gesture = undefined;
    const drag = dragging.peek();
    if (drag !== undefined) {
      dragging.value = undefined;
      if (event.type === "pointerup") options.onShift(drag.card, drag.weights);
    } else if (done !== undefined && event.type === "pointerup") select({ kind: "edge", id: done.curve.link.id });
  };
  const onWheel = (event: WheelEvent) => {
    event.preventDefault();
    const step = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
    viewport.value = zoomAt(viewport.peek(), Math.exp(-event.deltaY * step * 0.0015), local(event));
    options.onMoved();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.target !== frame) return;
    const moves: Record<string, readonly [number, number]> = {
      ArrowLeft: [60, 0],
      ArrowRight: [-60, 0],
      ArrowUp: [0, 60],
      ArrowDown: [0, -60],
    };
    const move = moves[event.key];
    const { scale, left, top } = viewport.peek();
    if (move !== undefined) viewport.value = { scale, left: left + move[0], top: top + move[1] };
    else if (event.key === "+" || event.key === "-") zoomMiddle(frame, event.key === "+" ? 1.2 : 1 / 1.2);
    else return;
    event.preventDefault();
    options.onMoved();
  };
  frame.addEventListener("pointerdown", onDown);
  frame.addEventListener("pointermove", onMove);
  frame.addEventListener("pointerup", onUp);
  frame.addEventListener("pointercancel", onUp);
  frame.addEventListener("wheel", onWheel, { passive: false });
  frame.addEventListener("keydown", onKey);
  return () => {
    frame.removeEventListener("pointerdown", onDown);
    frame.removeEventListener("pointermove", onMove);
    frame.removeEventListener("pointerup", onUp);
    frame.removeEventListener("pointercancel", onUp);
    frame.removeEventListener("wheel", onWheel);
    frame.removeEventListener("keydown", onKey);
  };
}

function canDrag({ link }: Curve): boolean {
  return link.toRow >= 0;
}

export function zoomMiddle(frame: HTMLElement, factor: number): void {
  const { width, height } = frame.getBoundingClientRect();
  viewport.value = zoomAt(viewport.peek(), factor, { x: width / 2, y: height / 2 });
}

/** Whether everything that is shown lies in the frame. */
export function isAllInSight(width: number, height: number): boolean {
  const { scale, left, top } = viewport.peek();
  const box = bounds.peek();
  return (
    box.x * scale + left >= 0 &&
    box.y * scale + top >= 0 &&
    (box.x + box.width) * scale + left <= width &&
    (box.y + box.height) * scale + top <= height
  );
}
