import { computed, signal } from "@preact/signals";
import type { ActionList, ConsoleEvents, GraphSnapshot, MeshState, Session } from "../../src/console/api.ts";
import { ApiFailure, getJson, subscribe } from "./api.ts";

/** How the page stands to its server. */
export type Connection =
  | { readonly phase: "connecting" }
  | { readonly phase: "open" }
  | { readonly phase: "lost"; readonly sinceAt: number }
  /** The link's token is of another run, or there was none. */
  | { readonly phase: "refused"; readonly reason: string };

export const session = signal<Session | undefined>(undefined);
export const connection = signal<Connection>({ phase: "connecting" });
export const snapshot = signal<GraphSnapshot | undefined>(undefined);
export const meshState = signal<MeshState | undefined>(undefined);
export const actions = signal<ActionList>({ actions: [] });
export const objectsRevision = signal("");

/** The page's clock, once a second. Ages are taken on this side: clocks of two machines differ. */
export const now = signal(Date.now());
const receivedAt = signal(0);

/** Age of what is shown, when that is too old to be called live; undefined while all is well. */
export const staleMs = computed(() => {
  const interval = session.value?.intervalMs ?? 1000;
  if (receivedAt.value === 0) return undefined;
  const age = now.value - receivedAt.value;
  return age > 3 * interval + 1000 ? age : undefined;
});

export const namespaces = computed(() => [
  ...new Set((snapshot.value?.nodes ?? []).map((node) => node.namespace).filter((name) => name !== "")),
]);

/** Runs as long as the page. */
export function startLive(): void {
  setInterval(() => {
    now.value = Date.now();
  }, 1000);
  void askSession();
  subscribe<ConsoleEvents>(
    "/api/events",
    {
      graph: (graph) => {
        snapshot.value = graph;
        receivedAt.value = Date.now();
        now.value = Date.now();
      },
      state: (state) => {
        meshState.value = state;
      },
      actions: (list) => {
        actions.value = list;
      },
      objects: ({ revision }) => {
        objectsRevision.value = revision;
      },
    },
    (state) => {
      if (state === "open") connection.value = { phase: "open" };
      else if (connection.value.phase !== "lost") connection.value = { phase: "lost", sinceAt: Date.now() };
      // After a loss the server may be another one: its name, and what it can do, are asked for again; so is the reason of a refusal.
      void askSession();
    },
  );
}

async function askSession(): Promise<void> {
  try {
    session.value = await getJson<Session>("/api/session");
    if (connection.value.phase === "refused") connection.value = { phase: "connecting" };
  } catch (thrown) {
    if (thrown instanceof ApiFailure && (thrown.status === 401 || thrown.status === 403))
      connection.value = { phase: "refused", reason: thrown.message };
  }
}
