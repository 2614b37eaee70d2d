import { signal } from "@preact/signals";
import type { Action, ActionRequest, AppliedAction } from "../../src/console/api.ts";
import { apiPath, postJson } from "../state/api.ts";
import { announce } from "../ui/toasts.tsx";

/** The action that is being prepared; its preview is shown, nothing is written yet. */
export const draft = signal<Action | undefined>(undefined);

export function prepare(action: Action): void {
  draft.value = action;
}

/** Applies and says so, with a way back. */
export async function apply(request: ActionRequest): Promise<AppliedAction> {
  const applied = await postJson<AppliedAction>("/api/actions", request);
  announce({
    tone: applied.state === "failed" ? "bad" : "ok",
    text: applied.text,
    ...(applied.canUndo ? { undo: () => undo(applied.id) } : {}),
  });
  return applied;
}

export async function undo(id: string): Promise<void> {
  try {
    const undone = await postJson<AppliedAction>(`${apiPath("actions", id)}/undo`, {});
    announce({ tone: undone.state === "failed" ? "bad" : "ok", text: `Undone: ${undone.text}` });
  } catch (thrown) {
    announce({ tone: "bad", text: thrown instanceof Error ? thrown.message : String(thrown) });
  }
}
