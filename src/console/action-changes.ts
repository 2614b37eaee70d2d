import { isDeepStrictEqual } from "node:util";
import type { ObjectDifference } from "./api.ts";
import { keyOf, toObject } from "./core/action-book.ts";
import type { ActionContext } from "./core/action-target.ts";
import { yamlOf } from "./object-text.ts";
import type { ConsoleSources, ObjectDocument, StoredObject } from "./sources.ts";

export type PlanContext = Omit<ActionContext, "objects"> & {
  readonly objects: readonly (StoredObject & { readonly spec: Record<string, unknown> })[];
};

/** What actions are planned on. */
export function contextFor(sources: ConsoleSources, objects: readonly StoredObject[]): PlanContext {
  return {
    namespace: sources.identity.namespace,
    services: sources.services(),
    workloads: sources.workloads(),
    objects: objects.map((object) => ({ ...object, spec: (object.document.spec ?? {}) as Record<string, unknown> })),
  };
}

/** An action may need an object that is as it should be already. */
export function changedBy(
  documents: readonly Record<string, unknown>[],
  objects: readonly StoredObject[],
): readonly ObjectDocument[] {
  const now = new Map(objects.map((object) => [keyOf(object), object.document]));
  return documents.map(toObject).filter((each) => !isDeepStrictEqual(now.get(keyOf(each)), each.document));
}

export function differenceOf(
  { kind, namespace, name, document }: ObjectDocument,
  objects: readonly StoredObject[],
): ObjectDifference {
  const before = objects.find((object) => keyOf(object) === keyOf({ kind, namespace, name }));
  return { kind, namespace, name, before: yamlOf(before?.document), after: yamlOf(document) };
}
