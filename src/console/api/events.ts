import type { ActionList } from "./actions.ts";
import type { GraphSnapshot } from "./graph.ts";
import type { WorkloadSummary } from "./workloads.ts";

/**
 * `GET /api/events`: one long response (`text/event-stream`). `event:` is the member's name, `data:` its JSON. Each event is the whole
 * state of its topic, and all topics come once at the start, so a page that reconnects needs nothing else. A slow reader misses states
 * in between, never the last one. A comment line comes every 15 s when there is nothing to say.
 */
export interface ConsoleEvents {
  /** Every `intervalMs`. */
  readonly graph: GraphSnapshot;
  /** When something changed. */
  readonly state: MeshState;
  readonly actions: ActionList;
  /** Objects have changed: ask for them again. */
  readonly objects: { readonly revision: string };
}

/** Beside the graph: how the parts are doing. */
export interface MeshState {
  readonly at: number;
  readonly controlPlane: ControlPlaneState;
  readonly workloads: readonly WorkloadSummary[];
  /** What is wrong with the configuration now; the last good one is in force. */
  readonly problems: readonly string[];
}

export interface ControlPlaneState {
  /** `stopped`: on purpose. `away`: it does not answer, and the reason says how. `unknown`: it cannot be seen from here. */
  readonly phase: "running" | "stopped" | "away" | "unknown";
  readonly reason?: string;
  /** Since when it is in this phase. */
  readonly sinceAt?: number;
  readonly pid?: number;
  readonly restarts?: number;
}
