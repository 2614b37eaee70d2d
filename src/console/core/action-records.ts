import type { AppliedAction, GraphSnapshot } from "../api.ts";
import type { ActionRecord } from "./action-book.ts";
import type { ActionContext } from "./action-target.ts";
import { versionId } from "./graph-nodes.ts";

export type Ending = Pick<AppliedAction, "state"> & { readonly reason?: string };

export function ended(record: ActionRecord, { state, reason }: Ending, at: number): ActionRecord {
  const { reason: _, ...rest } = record;
  return { ...rest, state, endedAt: at, ...(reason === undefined ? {} : { reason }) };
}

export function toApplied({ keys: _, ...record }: ActionRecord): AppliedAction {
  return { ...record, canUndo: record.state === "active" };
}

/** Those in force first, each part from its newest on. */
export function inOrder(actions: readonly ActionRecord[]): readonly ActionRecord[] {
  const newestFirst = [...actions].reverse();
  return [
    ...newestFirst.filter(({ state }) => state === "active"),
    ...newestFirst.filter(({ state }) => state !== "active"),
  ];
}

/** Requests to the version that is ramped to, and how many of them failed, since the graph before. */
export function rampFigures(
  { action }: ActionRecord,
  { edges }: GraphSnapshot,
  { namespace, services, elapsedMs }: Pick<ActionContext, "namespace" | "services"> & { readonly elapsedMs: number },
): { requests: number; errors: number } {
  if (action.kind !== "ramp") return { requests: 0, errors: 0 };
  const service = services.find(
    (each) =>
      each.host === action.service ||
      (each.name === action.service && each.namespace === (action.namespace ?? namespace)),
  );
  const target = edges.filter(({ to }) => to === versionId(service?.host ?? "", action.to));
  const requests = target.reduce((sum, { rps }) => sum + (rps * elapsedMs) / 1000, 0);
  const errors = target.reduce((sum, { rps, errorShare }) => sum + (rps * errorShare * elapsedMs) / 1000, 0);
  return { requests, errors };
}
