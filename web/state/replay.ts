import { batch, computed, effect, signal } from "@preact/signals";
import type { GraphHistory, GraphSnapshot, HistoryMark } from "../../src/console/api.ts";
import { buildGraphModel } from "../graph/graph-model.ts";
import { getJson } from "./api.ts";
import { frameAt, snapshotOfFrame, type Total, totalOf, totalsOf } from "./frames.ts";
import { connection, session, snapshot } from "./live.ts";

/** What the graph shows: the present, a moment that stands still, or the past at ten times its speed. */
export type Playback =
  | { readonly mode: "live" }
  | { readonly mode: "paused"; readonly at: number }
  | { readonly mode: "playing"; readonly at: number };

export const playback = signal<Playback>({ mode: "live" });
export const totals = signal<readonly Total[]>([]);
export const marks = signal<readonly HistoryMark[]>([]);
const history = signal<GraphHistory | undefined>(undefined);
const frozen = signal<GraphSnapshot | undefined>(undefined);

const SPEED = 10;
const STEP_MS = 100;

/** What is drawn. */
const shown = computed((): GraphSnapshot | undefined => {
  const state = playback.value;
  if (state.mode === "live") return snapshot.value;
  const past = history.value;
  const newest = frozen.value;
  if (newest !== undefined && state.at >= newest.at) return newest;
  if (past === undefined || past.frames.length === 0) return newest ?? snapshot.value;
  return snapshotOfFrame(past, frameAt(past, state.at));
});

export const model = computed(() => {
  const graph = shown.value;
  return graph === undefined ? { cards: [], links: [] } : buildGraphModel(graph);
});

export function pause(): void {
  const graph = snapshot.value;
  batch(() => {
    frozen.value = graph;
    playback.value = { mode: "paused", at: graph?.at ?? Date.now() };
  });
  void loadHistory();
}

export function live(): void {
  playback.value = { mode: "live" };
}

/** Shows a moment of the past and stays there. */
export function seek(at: number): void {
  if (playback.value.mode === "live") pause();
  playback.value = { mode: "paused", at };
}

/** From where it stands, or from the beginning when it stands at the end. */
export function play(): void {
  if (playback.value.mode === "live") pause();
  const [first] = totals.value;
  const at = playback.value.mode === "live" ? Date.now() : playback.value.at;
  const end = totals.value.at(-1)?.at ?? at;
  playback.value = { mode: "playing", at: end - at < 2000 && first !== undefined ? first.at : at };
}

export function togglePause(): void {
  if (playback.value.mode === "live") pause();
  else live();
}

/** Runs as long as the page. */
export function startReplay(): void {
  effect(() => {
    // After a lost connection too: the gap is filled as far as the server knows.
    if (connection.value.phase === "open") void loadHistory();
  });
  effect(() => {
    const graph = snapshot.value;
    const keep = session.value?.historyMs ?? 600_000;
    if (graph === undefined) return;
    const known = totals.peek();
    if ((known.at(-1)?.at ?? 0) < graph.at)
      totals.value = [...known.filter((total) => total.at > graph.at - keep), totalOf(graph)];
  });
  setInterval(() => {
    const state = playback.peek();
    if (state.mode !== "playing") return;
    const at = state.at + SPEED * STEP_MS;
    const end = totals.peek().at(-1)?.at ?? at;
    playback.value = at >= end ? { mode: "paused", at: end } : { mode: "playing", at };
  }, STEP_MS);
}

async function loadHistory(): Promise<void> {
  try {
    const past = await getJson<GraphHistory>("/api/history");
    batch(() => {
      history.value = past;
      marks.value = past.marks;
      const loaded = totalsOf(past);
      const last = loaded.at(-1)?.at ?? 0;
      totals.value = [...loaded, ...totals.peek().filter((total) => total.at > last)];
    });
  } catch {
    // What was seen by this page is still there; the connection says that the server is away.
  }
}
