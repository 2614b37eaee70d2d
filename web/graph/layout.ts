/** A card of the graph; `group` is its namespace when the graph is grouped. */
export interface LayoutNode {
  readonly id: string;
  readonly height: number;
  readonly group: string;
  /** Several edges of one caller end in it, close above each other: their labels stand between the two cards. */
  readonly isFanned?: boolean;
}
export interface LayoutEdge {
  readonly from: string;
  readonly to: string;
}
/** Upper left corner. */
export interface Position {
  readonly x: number;
  readonly y: number;
}
export type Layout = ReadonlyMap<string, Position>;

export const CARD_WIDTH = 208;
const COLUMN_GAP = 164;
const COLUMN = CARD_WIDTH + COLUMN_GAP;
/** A label beside its edges' end is up to 144 wide; before it the edges part. */
const FANNED_GAP = 256;
const GAP = 44;
/** Room that a long edge takes in each column it passes. */
const PASSAGE = 30;
const BAND_GAP = 96;

interface Cell {
  readonly id: string;
  readonly height: number;
  readonly gap: number;
  readonly before: Cell[];
  readonly after: Cell[];
  y: number;
}

/** Which way calls lead: right in wide windows, down in tall ones. */
export type Direction = "right" | "down";

const ROW_STEP = 236;
/** Distance of two cards beside each other when calls lead down. */
const BESIDE = CARD_WIDTH + 28;

/** Room that a card takes across the direction of calls. Layouts are made as if calls lead right, and turned. */
export function acrossSize(height: number, direction: Direction): number {
  return direction === "right" ? height : BESIDE - GAP;
}

export function turn({ x, y }: Position, direction: Direction): Position {
  return direction === "right" ? { x, y } : { x: y, y: Math.round((x / COLUMN) * ROW_STEP) };
}

export function turnBack({ x, y }: Position, direction: Direction): Position {
  return direction === "right" ? { x, y } : { x: (y / ROW_STEP) * COLUMN, y: x };
}

/** Lays the whole graph out: callers left of what they call, one band per group. The same input gives the same picture. */
export function arrange(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[]): Layout {
  const positions = new Map<string, Position>();
  let top = 0;
  for (const group of [...new Set(nodes.map((node) => node.group))].sort()) {
    const band = arrangeBand(
      nodes.filter((node) => node.group === group),
      edges,
    );
    let bottom = 0;
    for (const { id, position, height } of band) {
      positions.set(id, { x: position.x, y: position.y + top });
      bottom = Math.max(bottom, position.y + height);
    }
    top += bottom + BAND_GAP;
  }
  return positions;
}

/**
 * Adds what is new to a layout. What has a place keeps it, also while it is away: who comes back stands where it stood.
 * Cards that grew push those below them; nothing else moves.
 */
export function settle(known: Layout, nodes: readonly LayoutNode[], edges: readonly LayoutEdge[]): Layout {
  const fresh = nodes.filter((node) => !known.has(node.id));
  if (fresh.length === nodes.length && known.size === 0) return arrange(nodes, edges);
  const heights = new Map(nodes.map((node) => [node.id, node.height]));
  const groups = new Map(nodes.map((node) => [node.id, node.group]));
  const positions = new Map(known);
  const grouped = new Set(nodes.map((node) => node.group)).size > 1;
  for (const node of [...fresh].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    const isOf = (id: string) => !grouped || groups.get(id) === node.group;
    const at = (id: string) => (isOf(id) ? positions.get(id) : undefined);
    const callers = edges.filter((edge) => edge.to === node.id).flatMap((edge) => at(edge.from) ?? []);
    const called = edges.filter((edge) => edge.from === node.id).flatMap((edge) => at(edge.to) ?? []);
    const near = [...callers, ...called];
    const own = [...positions].filter(([id]) => groups.get(id) === node.group).map(([, position]) => position);
    const columns = [...new Set([...positions.values()].map((position) => position.x))];
    const x = grouped
      ? Math.max(-COLUMN, ...own.map((position) => position.x)) + COLUMN
      : callers.length > 0
        ? columnAfter(Math.max(...callers.map((position) => position.x)), columns, node)
        : called.length > 0
          ? Math.min(...called.map((position) => position.x)) - COLUMN
          : 0;
    const wanted = grouped
      ? own.length > 0
        ? Math.min(...own.map((position) => position.y))
        : lowest(positions, heights) + BAND_GAP
      : near.length > 0
        ? near.reduce((sum, position) => sum + position.y, 0) / near.length
        : lowest(positions, heights) + GAP;
    positions.set(node.id, { x, y: freeSlot(positions, heights, { x, wanted, height: node.height }) });
  }
  return pushDown(positions, heights);
}

/** The next column that is there, or one in its place: columns are not equally far apart. */
function columnAfter(x: number, columns: readonly number[], { isFanned = false }: LayoutNode): number {
  const wanted = x + CARD_WIDTH + (isFanned ? FANNED_GAP : COLUMN_GAP);
  const next = Math.min(...columns.filter((column) => column > x + CARD_WIDTH));
  return next >= x + COLUMN && next <= wanted + (FANNED_GAP - COLUMN_GAP) ? next : wanted;
}

function lowest(positions: Layout, heights: ReadonlyMap<string, number>): number {
  return Math.max(0, ...[...positions].map(([id, { y }]) => y + (heights.get(id) ?? 0)));
}

/** The free place of a column that is nearest to the wanted one. */
function freeSlot(
  positions: Layout,
  heights: ReadonlyMap<string, number>,
  { x, wanted, height }: { readonly x: number; readonly wanted: number; readonly height: number },
): number {
  const taken = [...positions]
    .filter(([, position]) => Math.abs(position.x - x) < CARD_WIDTH + 20)
    .map(([id, { y }]) => ({ from: y - GAP, to: y + (heights.get(id) ?? 72) + GAP }));
  const isFree = (y: number) => taken.every(({ from, to }) => y + height <= from || y >= to);
  const candidates = [wanted, ...taken.flatMap(({ from, to }) => [to, from - height])].filter(isFree);
  return candidates.reduce(
    (best, y) => (Math.abs(y - wanted) < Math.abs(best - wanted) ? y : best),
    candidates[0] ?? wanted,
  );
}

function pushDown(positions: Map<string, Position>, heights: ReadonlyMap<string, number>): Layout {
  const shown = [...positions].filter(([id]) => heights.has(id)).sort(([, a], [, b]) => a.y - b.y);
  shown.forEach(([id, above], index) => {
    const bottom = (positions.get(id) ?? above).y + (heights.get(id) ?? 0) + 12;
    for (const [lower] of shown.slice(index + 1)) {
      const below = positions.get(lower);
      if (below === undefined || Math.abs(below.x - above.x) >= CARD_WIDTH || below.y >= bottom) continue;
      positions.set(lower, { x: below.x, y: bottom });
    }
  });
  return positions;
}

function arrangeBand(nodes: readonly LayoutNode[], allEdges: readonly LayoutEdge[]) {
  const ids = new Set(nodes.map((node) => node.id));
  const edges = allEdges.filter((edge) => ids.has(edge.from) && ids.has(edge.to) && edge.from !== edge.to);
  const layers = layerOf(nodes, edges);
  const columns = buildColumns(nodes, edges, layers);
  orderColumns(columns);
  alignColumns(columns);
  const top = Math.min(0, ...columns.flatMap((column) => column.map((cell) => cell.y)));
  const fanned = new Set(nodes.filter(({ isFanned }) => isFanned).map(({ id }) => id));
  let x = -COLUMN;
  return columns.flatMap((column, index) => {
    const isWide = index > 0 && column.some(({ id }) => fanned.has(id));
    x += CARD_WIDTH + (isWide ? FANNED_GAP : COLUMN_GAP);
    const left = x;
    return column
      .filter((cell) => ids.has(cell.id))
      .map(({ id, y, height }) => ({ id, height, position: { x: left, y: Math.round(y - top) } }));
  });
}

/** Longest path from the callers without callers of their own; edges that would close a circle do not count. Lone nodes go left. */
function layerOf(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[]): ReadonlyMap<string, number> {
  const forward = withoutCircles(nodes, edges);
  const layers = new Map(nodes.map((node) => [node.id, 0]));
  for (let changed = true; changed; ) {
    changed = false;
    for (const { from, to } of forward) {
      const least = (layers.get(from) ?? 0) + 1;
      if ((layers.get(to) ?? 0) >= least) continue;
      layers.set(to, least);
      changed = true;
    }
  }
  // A caller without callers stands beside the first that it calls, not at the far left.
  for (const { id } of nodes) {
    const targets = forward.filter((edge) => edge.from === id).map((edge) => layers.get(edge.to) ?? 1);
    if (targets.length > 0 && forward.every((edge) => edge.to !== id)) layers.set(id, Math.min(...targets) - 1);
  }
  return inFewerColumns(layers, nodes.length);
}

/** A long chain of calls would be a ribbon too long to read: neighbouring layers share a column then. */
function inFewerColumns(layers: Map<string, number>, count: number): ReadonlyMap<string, number> {
  const most = Math.max(6, Math.ceil(Math.sqrt(count * 0.45)));
  const depth = Math.max(0, ...layers.values()) + 1;
  if (depth <= most) return layers;
  return new Map([...layers].map(([id, layer]) => [id, Math.floor((layer * most) / depth)]));
}

function withoutCircles(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[]): readonly LayoutEdge[] {
  const next = new Map<string, LayoutEdge[]>();
  for (const edge of edges) next.set(edge.from, [...(next.get(edge.from) ?? []), edge]);
  const called = new Set(edges.map((edge) => edge.to));
  const [open, done] = [new Set<string>(), new Set<string>()];
  const kept: LayoutEdge[] = [];
  const visit = (id: string) => {
    open.add(id);
    for (const edge of next.get(id) ?? []) {
      if (open.has(edge.to)) continue;
      kept.push(edge);
      if (!done.has(edge.to)) visit(edge.to);
    }
    open.delete(id);
    done.add(id);
  };
  const roots = [...nodes].sort((a, b) => Number(called.has(a.id)) - Number(called.has(b.id)));
  for (const { id } of roots) if (!done.has(id)) visit(id);
  return kept;
}

/** Cells of each column; an edge over several columns gets a cell in each that it passes, so that it has room there. */
function buildColumns(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
  layers: ReadonlyMap<string, number>,
): Cell[][] {
  const count = Math.max(0, ...layers.values()) + 1;
  const columns: Cell[][] = Array.from({ length: count }, () => []);
  const create = (id: string, height: number, gap: number): Cell => ({ id, height, gap, before: [], after: [], y: 0 });
  const cells = new Map(nodes.map((node) => [node.id, create(node.id, node.height, GAP)]));
  for (const node of nodes) {
    const cell = cells.get(node.id);
    if (cell !== undefined) columns[layers.get(node.id) ?? 0]?.push(cell);
  }
  const passages = new Map<string, Cell>();
  for (const { from, to } of edges) {
    const [first, last] = [layers.get(from) ?? 0, layers.get(to) ?? 0];
    let previous = cells.get(from);
    const target = cells.get(to);
    if (previous === undefined || target === undefined || last <= first) continue;
    for (let layer = first + 1; layer < last; layer++) {
      // Edges to one target share their way.
      const key = `${layer} ${to}`;
      const passage = passages.get(key) ?? create(`passage ${key}`, 0, PASSAGE);
      if (!passages.has(key)) columns[layer]?.push(passage);
      passages.set(key, passage);
      previous.after.push(passage);
      passage.before.push(previous);
      previous = passage;
    }
    previous.after.push(target);
    target.before.push(previous);
  }
  return columns;
}

/** Fewer crossings: each column is sorted by the mean place of its neighbours, forth and back a few times. */
function orderColumns(columns: Cell[][]): void {
  for (let sweep = 0; sweep < 8; sweep++) {
    const forth = sweep % 2 === 0;
    const order = forth ? columns : [...columns].reverse();
    for (const column of order) {
      const rank = new Map(columns.flatMap((cells) => cells.map((cell, index) => [cell, index / cells.length])));
      const mean = (cell: Cell) => {
        const near = forth ? cell.before : cell.after;
        if (near.length === 0) return rank.get(cell) ?? 0;
        return near.reduce((sum, other) => sum + (rank.get(other) ?? 0), 0) / near.length;
      };
      const wanted = new Map(column.map((cell) => [cell, mean(cell)]));
      column.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0) || (a.id < b.id ? -1 : 1));
    }
  }
}

/** Moves cells towards their neighbours without changing the order in a column. */
function alignColumns(columns: Cell[][]): void {
  for (const column of columns) {
    let y = 0;
    for (const cell of column) {
      cell.y = y;
      y += cell.height + cell.gap;
    }
  }
  const middle = (cell: Cell) => cell.y + cell.height / 2;
  for (let pass = 0; pass < 12; pass++) {
    const forth = pass % 2 === 0;
    for (const column of forth ? columns : [...columns].reverse()) {
      for (const cell of column) {
        const near = forth && cell.before.length > 0 ? cell.before : cell.after.length > 0 ? cell.after : cell.before;
        if (near.length > 0)
          cell.y = near.reduce((sum, other) => sum + middle(other), 0) / near.length - cell.height / 2;
      }
      spread(column);
    }
  }
}

/** Removes overlaps of a column, as evenly as the order allows: groups that touch move to their mean together. */
function spread(column: Cell[]): void {
  interface Run {
    cells: Cell[];
    sum: number;
    size: number;
  }
  const runs: Run[] = [];
  for (const cell of column) {
    const run: Run = { cells: [cell], sum: cell.y, size: cell.height + cell.gap };
    runs.push(run);
    for (;;) {
      const [above, below] = [runs.at(-2), runs.at(-1)];
      if (above === undefined || below === undefined) break;
      const [aboveTop, belowTop] = [above.sum / above.cells.length, below.sum / below.cells.length];
      if (aboveTop + above.size <= belowTop) break;
      // Wanted tops of the lower run count as if its first cell stood at the upper run's end.
      above.sum += below.sum - below.cells.length * above.size;
      above.cells.push(...below.cells);
      above.size += below.size;
      runs.pop();
    }
  }
  for (const { cells, sum } of runs) {
    let y = sum / cells.length;
    for (const cell of cells) {
      cell.y = y;
      y += cell.height + cell.gap;
    }
  }
}
