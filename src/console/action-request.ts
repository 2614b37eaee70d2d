import { HttpError } from "../net/http-server/http-types.ts";
import type { Action } from "./api.ts";
import { ActionError } from "./core/action-error.ts";
import { inRange } from "./core/action-values.ts";
import { ACTION_KINDS } from "./core/plan-action.ts";
import type { ConsoleSources } from "./sources.ts";

const DAY_MS = 24 * 3600_000;

/** Throws when these sources cannot do it, or not for so long; what is in the action is checked when it is planned. */
export function checkRequest(
  action: Action | undefined,
  expiresInMs: number | undefined,
  sources: ConsoleSources,
): void {
  const kinds = actionKinds(sources);
  const kind = action?.kind;
  if (kind === undefined || !kinds.includes(kind))
    throw new HttpError(400, `kind is ${JSON.stringify(kind)}, possible here are ${kinds.join(", ") || "none"}`);
  if (expiresInMs !== undefined) asHttp(() => inRange("expiresInMs", expiresInMs, 1000, DAY_MS));
}

const PROCESS_ACTIONS: readonly string[] = ["kill-envoy", "stop-control-plane", "start-control-plane"];

export function isOnProcess({ kind }: Action): boolean {
  return PROCESS_ACTIONS.includes(kind);
}

/** What can be done with these sources. */
export function actionKinds({ objects, parts }: ConsoleSources): readonly Action["kind"][] {
  return ACTION_KINDS.filter((kind) =>
    PROCESS_ACTIONS.includes(kind) ? parts !== undefined : objects?.canWrite === true,
  );
}

/** What is wrong with an action is its sender's mistake. */
export function asHttp<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof ActionError) throw new HttpError(400, thrown.message);
    throw thrown;
  }
}
