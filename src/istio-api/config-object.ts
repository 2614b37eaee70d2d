import type { Kind, SpecOf } from "./kinds.ts";

/** Names one rule object. */
export interface ObjectRef {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
}

/** One rule object: metadata and a spec whose type follows from its kind. Frozen all the way down. */
export interface ConfigObject<Of extends Kind = Kind> extends ObjectRef {
  readonly kind: Of;
  readonly apiVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Milliseconds since 1970; 0 when unknown: objects are then ordered by name and namespace. */
  readonly creationTime: number;
  readonly spec: SpecOf<Of>;
  /** As found in the document; only WorkloadEntry conditions are read from it. */
  readonly status?: unknown;
  /** The document as it was given, for showing it again. */
  readonly source: Readonly<Record<string, unknown>>;
}

/** Some object, with `kind` as the discriminant of its spec. */
export type AnyConfigObject = { [Of in Kind]: ConfigObject<Of> }[Kind];

/** Names and namespaces cannot hold a slash, so that no two objects share a key. */
export function objectKey({ kind, namespace, name }: ObjectRef): string {
  return `${kind}/${namespace}/${name}`;
}

interface Aged {
  readonly creationTime: number;
  readonly name: string;
  readonly namespace: string;
}

/** The order in which objects win: the oldest, then by name, then by namespace. */
export function compareAge(a: Aged, b: Aged): number {
  return a.creationTime - b.creationTime || compareText(a.name, b.name) || compareText(a.namespace, b.namespace);
}

/** By code unit: the same in every locale. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
