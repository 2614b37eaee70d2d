import { isDeepStrictEqual } from "node:util";
import type { Action, AppliedAction, ObjectDifference, RampState } from "../api.ts";
import type { ObjectDocument, ObjectName, StoredObject } from "../sources.ts";
import type { ActionContext } from "./action-target.ts";
import { planAction } from "./plan-action.ts";
import { RAMP, rampStep } from "./plan-versions.ts";
import type { Document } from "./rule-documents.ts";

/** One action as it is recorded, on disk too. */
export interface ActionRecord extends Omit<AppliedAction, "canUndo" | "changes"> {
  readonly changes: readonly ObjectDifference[];
  /** Keys of the objects that it writes. */
  readonly keys: readonly string[];
}

/** What the console has written over what there was. */
export interface WrittenObject extends ObjectName {
  /** What had been applied before, null when nothing was: then an object of a file comes back. */
  readonly base: Readonly<Record<string, unknown>> | null;
  readonly written: Readonly<Record<string, unknown>>;
}

/** All that has to be known after a restart. */
export interface ActionBook {
  readonly actions: readonly ActionRecord[];
  readonly written: readonly WrittenObject[];
}

export const EMPTY_BOOK: ActionBook = { actions: [], written: [] };

/** What has to be done to the objects so that the active actions, and nothing else of ours, are in force. */
export interface BookPlan {
  readonly put: readonly ObjectDocument[];
  readonly remove: readonly ObjectName[];
  readonly written: readonly WrittenObject[];
}

export function keyOf({ kind, namespace, name }: ObjectName): string {
  return `${kind}/${namespace}/${name}`;
}

/**
 * Actions on one object are in force together, in their order. Ending one plays the others again over what was there before all of
 * them, so that they may be undone in any order. Throws an ActionError when one of them cannot be played on what is there now.
 */
export function planBook(
  actions: readonly ActionRecord[],
  written: readonly WrittenObject[],
  context: Omit<ActionContext, "objects"> & { readonly objects: readonly StoredObject[] },
): BookPlan {
  const ours = new Map(written.map((each) => [keyOf(each), each]));
  const objects = new Map<string, ActionContext["objects"][number]>();
  for (const object of context.objects) {
    const own = ours.get(keyOf(object));
    const document = own === undefined ? object.document : (own.base ?? object.under);
    if (document !== undefined) objects.set(keyOf(object), toRule(object, document));
  }
  const bases = new Map([...objects].map(([key, { document }]) => [key, document]));
  const results = new Map<string, ObjectDocument>();
  for (const record of actions) {
    for (const document of planOf(record, { ...context, objects: [...objects.values()] }).documents) {
      const object = toObject(document);
      objects.set(keyOf(object), toRule(object, document));
      // A document that is as it was is not ours to write, nor to take back.
      if (isDeepStrictEqual(bases.get(keyOf(object)), document)) results.delete(keyOf(object));
      else results.set(keyOf(object), object);
    }
  }
  const before = new Map(context.objects.map((object) => [keyOf(object), object]));
  const gone = written.filter((each) => !results.has(keyOf(each)));
  const restored = gone.flatMap(({ base, written: _, ...name }) =>
    base === null ? [] : [{ ...name, document: base }],
  );
  const changed = [...results.values()].filter(
    (each) => !isDeepStrictEqual(before.get(keyOf(each))?.document, each.document),
  );
  return {
    put: [...restored, ...changed],
    remove: gone.filter(({ base }) => base === null).map(({ kind, namespace, name }) => ({ kind, namespace, name })),
    written: [...results.values()].map(({ document, ...name }) => {
      const [own, was] = [ours.get(keyOf(name)), before.get(keyOf(name))];
      const base = own === undefined ? (was?.origin === "applied" ? was.document : null) : own.base;
      return { ...name, base, written: document };
    }),
  };
}

/** A document by its own name. */
export function toObject(document: Readonly<Record<string, unknown>>): ObjectDocument {
  const { namespace, name } = document.metadata as { readonly namespace: string; readonly name: string };
  return { kind: String(document.kind), namespace, name, document };
}

function planOf(record: ActionRecord, context: ActionContext): { readonly documents: readonly Document[] } {
  if (record.action.kind !== "ramp") return planAction(record.action, context);
  return rampStep(record.action, context, record.ramp?.share ?? 0);
}

function toRule(
  { kind, namespace, name }: ObjectName,
  document: Readonly<Record<string, unknown>>,
): ActionContext["objects"][number] {
  return { kind, namespace, name, document, spec: (document.spec ?? {}) as Record<string, unknown> };
}

/** Objects that are not as we wrote them: somebody else has, and it is theirs from then on. */
export function takenOver(
  written: readonly WrittenObject[],
  objects: readonly StoredObject[],
): readonly WrittenObject[] {
  const now = new Map(objects.map((object) => [keyOf(object), object.document]));
  return written.filter((each) => !isDeepStrictEqual(now.get(keyOf(each)), each.written));
}

/** What was measured of a ramp's target since the last look. */
export interface RampFigures {
  readonly requests: number;
  readonly errors: number;
}

export type RampStep =
  | { readonly do: "stay"; readonly ramp: RampState }
  | { readonly do: "step"; readonly ramp: RampState }
  | { readonly do: "return"; readonly ramp: RampState; readonly reason: string };

export function firstRamp(
  { steps = RAMP.steps, stepMs = RAMP.stepMs }: Extract<Action, { kind: "ramp" }>,
  now: number,
): RampState {
  return { steps, step: 0, share: steps[0] ?? 100, nextAt: now + stepMs, requests: 0, errorShare: 0 };
}

/** Too many errors return at once; a step is over when its time is and enough requests have shown that it is good. */
export function nextRamp(
  {
    to,
    stepMs = RAMP.stepMs,
    maxErrorShare = RAMP.maxErrorShare,
    minRequests = RAMP.minRequests,
  }: Extract<Action, { kind: "ramp" }>,
  state: RampState,
  { requests, errors }: RampFigures,
  now: number,
): RampStep {
  const all = state.requests + requests;
  const failed = state.errorShare * state.requests + errors;
  const ramp = { ...state, requests: all, errorShare: all === 0 ? 0 : failed / all };
  if (state.step >= state.steps.length) return { do: "stay", ramp: state };
  if (all >= minRequests && ramp.errorShare > maxErrorShare) {
    const share = (ramp.errorShare * 100).toFixed(1);
    const reason = `${share}% of ${Math.round(all)} requests to ${to} failed at ${state.share}%, allowed are ${maxErrorShare * 100}%`;
    return { do: "return", ramp, reason };
  }
  if (now < (state.nextAt ?? 0) || all < minRequests) return { do: "stay", ramp };
  const step = state.step + 1;
  const share = state.steps[step];
  const { nextAt: _, ...rest } = ramp;
  if (share === undefined) return { do: "step", ramp: { ...rest, step } };
  return { do: "step", ramp: { ...rest, step, share, nextAt: now + stepMs, requests: 0, errorShare: 0 } };
}
