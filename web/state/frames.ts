import type { GraphEdge, GraphHistory, GraphSnapshot } from "../../src/console/api.ts";

/** The sum of a moment, for the line of time. */
export interface Total {
  readonly at: number;
  readonly rps: number;
  readonly errorShare: number;
}

const NO_FIGURES = {
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
};

/** The graph as it was at a frame of the history. */
export function snapshotOfFrame(history: GraphHistory, index: number): GraphSnapshot | undefined {
  const frame = history.frames[index];
  if (frame === undefined) return undefined;
  const edges = history.edges.flatMap((edge, at): GraphEdge[] => {
    const values = frame.values[at];
    if (values === null || values === undefined) return [];
    const figures = Object.fromEntries(
      history.columns.flatMap((column, place) => {
        const value = values[place];
        return value === null || value === undefined ? [] : [[column, value]];
      }),
    );
    return [{ ...NO_FIGURES, ...edge, ...figures }];
  });
  return { at: frame.at, windowMs: 0, nodes: history.nodes, edges, stale: [] };
}

export function totalsOf(history: GraphHistory): readonly Total[] {
  return history.frames.flatMap((_, index) => {
    const graph = snapshotOfFrame(history, index);
    return graph === undefined ? [] : [totalOf(graph)];
  });
}

export function totalOf({ at, edges }: GraphSnapshot): Total {
  const rps = edges.reduce((sum, edge) => sum + edge.rps, 0);
  const errors = edges.reduce((sum, edge) => sum + edge.rps * edge.errorShare, 0);
  return { at, rps, errorShare: rps === 0 ? 0 : errors / rps };
}

/** The frame that was in force at a time: the last one not after it. */
export function frameAt(history: GraphHistory, at: number): number {
  let found = 0;
  history.frames.forEach((frame, index) => {
    if (frame.at <= at) found = index;
  });
  return found;
}
