import { changedBy, differenceOf, type PlanContext } from "../../../src/console/action-changes.ts";
import type { Action, GraphSnapshot, MeshState } from "../../../src/console/api.ts";
import { ActionError } from "../../../src/console/core/action-error.ts";
import type { ActionContext } from "../../../src/console/core/action-target.ts";
import { planAction } from "../../../src/console/core/plan-action.ts";
import { readDocument } from "../../../src/istio-api/decode/parse-config-text.ts";
import type { ConsoleScript } from "./scripted-console.ts";

export interface Answer {
  readonly body: unknown;
  readonly status?: number;
}

/** Plans as the console does, on the objects of the script; what is applied is listed, and written nowhere. */
export function answerToAction(
  script: ConsoleScript,
  segments: readonly string[],
  body: Record<string, unknown>,
): Answer {
  const [, id, verb] = segments;
  if (verb === "undo") return undo(script, id ?? "");
  if (script.refusal !== undefined) return { status: 422, body: { error: script.refusal } };
  const action = body.action as Action;
  try {
    const context = contextOf(script);
    const { text, documents } = planAction(action, context);
    const changes = changedBy(documents, context.objects).map((each) => differenceOf(each, context.objects));
    if (id === "preview") return { body: { action, text, changes, problems: [], canUndo: true } };
    const applied = { id: `a${script.actions.actions.length + 1}`, action, text, appliedAt: Date.now(), changes };
    script.actions = { actions: [{ ...applied, state: "active", canUndo: true }, ...script.actions.actions] };
    return { status: 201, body: { ...applied, state: "active", canUndo: true } };
  } catch (thrown) {
    if (!(thrown instanceof ActionError)) throw thrown;
    return { status: 400, body: { error: thrown.message } };
  }
}

function undo(script: ConsoleScript, id: string): Answer {
  const action = script.actions.actions.find((candidate) => candidate.id === id);
  if (action === undefined) return { status: 404, body: { error: `no action ${id}` } };
  script.actions = {
    actions: script.actions.actions.map((one) => (one === action ? { ...one, state: "undone" } : one)),
  };
  return { body: { ...action, state: "undone" } };
}

function contextOf({ session: { namespace }, graph, state, objects }: ConsoleScript): PlanContext {
  return {
    namespace,
    services: servicesOf(graph),
    workloads: workloadsOf(state),
    objects: objects.map((object) => {
      const document = documentOf(object.yaml);
      return { ...object, document, spec: (document.spec ?? {}) as Record<string, unknown> };
    }),
  };
}

function servicesOf({ nodes }: GraphSnapshot): ActionContext["services"] {
  return nodes.flatMap(({ kind, label, namespace, host }) =>
    kind === "service" && host !== undefined
      ? [{ name: label, namespace, host, protocol: "http", ports: [8480], entry: false, external: false } as const]
      : [],
  );
}

function workloadsOf({ workloads }: MeshState): ActionContext["workloads"] {
  return workloads.map(({ id, name, namespace, service = name, version }) => ({
    id,
    namespace,
    service,
    labels: { app: service, ...(version === undefined ? {} : { version }) },
    ...(version === undefined ? {} : { version }),
    identity: `spiffe://cluster.local/ns/${namespace}/sa/${service}`,
  }));
}

function documentOf(yaml: string): Record<string, unknown> {
  return { ...readDocument(yaml, { defaultNamespace: "shop" }).object?.source };
}
