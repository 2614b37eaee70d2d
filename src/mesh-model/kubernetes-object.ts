import { asJsonObject } from "../base/json-object.ts";

/** An object of an API server as JSON gives it. Nothing in it is certain: files hold what users wrote. */
export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec?: unknown;
  readonly status?: unknown;
}

export interface ObjectMeta {
  readonly name?: string;
  readonly namespace?: string;
  readonly labels?: unknown;
  readonly annotations?: unknown;
  readonly creationTimestamp?: unknown;
  readonly deletionTimestamp?: unknown;
  readonly ownerReferences?: unknown;
}

type Fields = Readonly<Record<string, unknown>>;
type Labels = Readonly<Record<string, string>>;

const NO_LABELS: Labels = Object.freeze({});

/** Members of an object; none of what is something else. */
export function fields(value: unknown): Fields {
  return asJsonObject(value);
}

export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fields) : [];
}

export function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string" && entry !== "") : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isInteger(value) ? value : 0;
}

/** Labels or annotations; values that are not text are left out. */
export function labelsOf(value: unknown): Labels {
  const entries = Object.entries(fields(value)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return entries.length === 0 ? NO_LABELS : Object.freeze(Object.fromEntries(entries));
}

/** Milliseconds since 1970; 0 when the object has none: a file's objects are all equally old. */
export function creationTimeOf({ creationTimestamp }: ObjectMeta): number {
  const parsed = Date.parse(textOf(creationTimestamp));
  return Number.isNaN(parsed) ? 0 : parsed;
}

/** Names of one kind cannot hold a slash, so that no two objects share a key. Cluster-wide objects have their name alone. */
export function keyOf({ name = "", namespace = "" }: Pick<ObjectMeta, "name" | "namespace">): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}
