import { isJsonObject } from "../base/json-object.ts";
import type { KubernetesObject, ObjectMeta } from "../mesh-model/kubernetes-object.ts";

/** A kind of object as the API's paths name it. */
export interface ResourceKind {
  /** "" for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** All namespaces, or none where the kind has none, when absent. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface OwnerReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly controller?: boolean;
}

/** The API server sees to these. */
export interface StoredMeta extends ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
}

/** An object that an API server gave. Who reads more than the metadata checks what it finds. */
export interface ApiObject extends KubernetesObject {
  readonly metadata: StoredMeta;
  readonly [member: string]: unknown;
}

/** One page of a list. */
export interface ObjectList {
  readonly items: readonly ApiObject[];
  readonly resourceVersion: string;
  /** Names the next page; undefined after the last. */
  readonly continueToken: string | undefined;
}

/** "namespace/name", or "name" of what has no namespace. */
export function objectKey({ metadata }: Pick<ApiObject, "metadata">): string {
  return metadata.namespace === undefined || metadata.namespace === ""
    ? metadata.name
    : `${metadata.namespace}/${metadata.name}`;
}

/** For messages: plural, group and namespace. */
export function shownResource({ group, plural, namespace }: ResourceKind): string {
  const kind = group === "" ? plural : `${plural}.${group}`;
  return namespace === undefined ? kind : `${kind} in namespace ${namespace}`;
}

/** The path of the collection, or of one object, or of a subresource of it. */
export function resourcePath({ group, version, plural, namespace }: ResourceKind, name?: string, sub?: string): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const parts = [...(namespace === undefined ? [] : ["namespaces", namespace]), plural];
  if (name !== undefined) parts.push(name);
  if (sub !== undefined) parts.push(sub);
  return `${root}/${parts.map(encodeURIComponent).join("/")}`;
}

/** An answer that is an object, or undefined. */
export function asObject(value: unknown): ApiObject | undefined {
  if (!isJsonObject(value) || typeof value.metadata !== "object" || value.metadata === null) return undefined;
  return value as ApiObject;
}
