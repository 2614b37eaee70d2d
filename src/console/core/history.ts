import type { GraphEdge, GraphHistory, GraphNode, GraphSnapshot, HistoryColumn, HistoryMark } from "../api.ts";

export const HISTORY_MS = 10 * 60_000;
const MAX_MARKS = 200;

const COLUMNS: readonly HistoryColumn[] = [
  "rps",
  "errorShare",
  "clientErrorShare",
  "faultShare",
  "p50Ms",
  "p99Ms",
  "sentBytesPerSecond",
  "receivedBytesPerSecond",
  "mtlsShare",
  "openConnections",
];

type Edge = GraphHistory["edges"][number];

/** Numbers only: a snapshot as it is would be a hundred times as large. */
interface Frame {
  readonly at: number;
  readonly values: ReadonlyMap<string, readonly (number | null)[]>;
}

/** Ten minutes of what pages have seen. Not a store: it ends with the console. */
export class History {
  #frames: Frame[] = [];
  #marks: HistoryMark[] = [];
  #nodes = new Map<string, { readonly node: GraphNode; readonly at: number }>();
  #edges = new Map<string, { readonly edge: Edge; readonly at: number }>();

  add({ at, nodes, edges }: GraphSnapshot): void {
    for (const node of nodes) this.#nodes.set(node.id, { node, at });
    for (const { id, from, to, protocol, port } of edges)
      this.#edges.set(id, { edge: { id, from, to, protocol, ...(port === undefined ? {} : { port }) }, at });
    this.#frames.push({ at, values: new Map(edges.map((edge) => [edge.id, numbersOf(edge)])) });
    this.#forget(at - HISTORY_MS);
  }

  mark(mark: HistoryMark): void {
    this.#marks = [...this.#marks, mark].slice(-MAX_MARKS);
  }

  read(from: number, to: number): GraphHistory {
    const frames = this.#frames.filter(({ at }) => at >= from && at <= to);
    const edges = [...this.#edges.values()].map(({ edge }) => edge);
    return {
      fromAt: frames[0]?.at ?? from,
      toAt: frames.at(-1)?.at ?? to,
      nodes: [...this.#nodes.values()].map(({ node }) => node),
      edges,
      columns: COLUMNS,
      frames: frames.map(({ at, values }) => ({ at, values: edges.map(({ id }) => toArray(values.get(id))) })),
      marks: this.#marks.filter(({ at }) => at >= from && at <= to),
    };
  }

  #forget(before: number): void {
    const first = this.#frames.findIndex(({ at }) => at >= before);
    if (first > 0) this.#frames = this.#frames.slice(first);
    this.#marks = this.#marks.filter(({ at }) => at >= before);
    for (const [id, { at }] of this.#nodes) if (at < before) this.#nodes.delete(id);
    for (const [id, { at }] of this.#edges) if (at < before) this.#edges.delete(id);
  }
}

function numbersOf(edge: GraphEdge): readonly (number | null)[] {
  return COLUMNS.map((column) => edge[column] ?? null);
}

function toArray(values: readonly (number | null)[] | undefined): (number | null)[] | null {
  return values === undefined ? null : [...values];
}
