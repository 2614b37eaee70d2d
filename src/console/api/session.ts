import type { ActionKind } from "./actions.ts";

/** `GET /api/session`: who serves, and what it can do. The page hides what is not there. */
export interface Session {
  /** Of this program. */
  readonly version: string;
  /** `mesh up`, `discovery --console`, or one agent. */
  readonly scope: "mesh" | "control-plane" | "agent";
  /** Of the mesh, the control plane or the workload. */
  readonly name: string;
  /** Where objects without one are put. */
  readonly namespace: string;
  readonly startedAt: number;
  readonly now: number;
  /** How often a graph comes while nothing is lost. A page that has had none for three times as long shows its age. */
  readonly intervalMs: number;
  /** How far back `history` goes. */
  readonly historyMs: number;
  readonly features: Features;
  /** Where services are reached from outside the mesh, by service. */
  readonly entries: Readonly<Record<string, string>>;
}

export interface Features {
  readonly graph: boolean;
  /** Kinds of actions that can be applied here; empty: none. */
  readonly actions: readonly ActionKind[];
  /** Objects are listed. */
  readonly objects: boolean;
  /** Objects can be written. */
  readonly editing: boolean;
  readonly logs: boolean;
  readonly logLevels: boolean;
  readonly requests: boolean;
}
