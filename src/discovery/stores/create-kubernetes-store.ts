import { type AnyConfigObject, type ObjectRef, objectKey } from "../../istio-api/config-object.ts";
import { decodeObject } from "../../istio-api/decode/decode-object.ts";
import type { DocumentProblem } from "../../istio-api/decode/parse-config-text.ts";
import type { ConfigStore } from "../../mesh-model/config-store.ts";
import { formatPath } from "../../protobuf/json/read-message.ts";
import { createSnapshotPublisher } from "./config-snapshot.ts";
import type { ObjectPatch } from "./kind-table.ts";

/** What the store holds of one rule object of an API server. */
export interface KubernetesRule {
  readonly ref: ObjectRef;
  /** Undefined for an object with errors, which is reported. */
  readonly object: AnyConfigObject | undefined;
  readonly problems: readonly DocumentProblem[];
  /** Absent for objects that no API server gave. */
  readonly origin?: RuleOrigin | undefined;
}

/** Where an object is and what the API server says of it, for whoever writes its status. */
export interface RuleOrigin {
  readonly resource: { readonly group: string; readonly version: string; readonly plural: string };
  readonly uid: string;
  readonly generation: number;
  readonly resourceVersion: string;
  readonly status: unknown;
}

/** Rule objects of a cluster. Fed by whoever watches the API server; knows nothing of it. */
export interface KubernetesStore extends ConfigStore {
  /** Undefined takes the object of that key away. */
  set(key: string, rule: KubernetesRule | undefined): void;
  /** Publishes what was set since the last call, or all objects again after the set of watched namespaces changed. */
  commit(): void;
  /** Namespaces may be looked at otherwise than before. */
  namespacesChanged(): void;
  /** Of namespaces that are looked at, objects with errors included. */
  rules(): readonly KubernetesRule[];
  /** The version of an object as the API server has it now; undefined for what no API server gave. */
  versionOf(ref: ObjectRef): string | undefined;
  /** Called after each commit of something that was set, be it that no rule says anything else than before. */
  subscribeRules(listener: () => void): () => void;
}

/** An object as the API server gives it; undefined for kinds that are not rules. What only the server needs is not held in memory. */
export function decodeRule(document: unknown, resource?: RuleOrigin["resource"]): KubernetesRule | undefined {
  const { object, ref, ignoredKind, problems } = decodeObject(withoutBookkeeping(document), {
    defaultNamespace: "default",
    isOfCluster: true,
  });
  if (ref === undefined || ignoredKind !== undefined) return undefined;
  return {
    ref,
    object,
    origin: resource && originOf(document, resource),
    problems: problems.map(({ path, message, severity }) => ({
      file: "kubernetes",
      line: 1,
      column: 1,
      severity,
      message,
      field: formatPath(path),
      object: ref,
    })),
  };
}

export function createKubernetesStore(isDiscovered: (namespace: string) => boolean): KubernetesStore {
  const publisher = createSnapshotPublisher();
  const rules = new Map<string, KubernetesRule>();
  const faulty = new Set<string>();
  /** By key of the rule; what is to be published of them. */
  const dirty = new Map<string, ObjectRef>();
  let areNamespacesDirty = false;
  const shown = ({ ref, object }: KubernetesRule) => (isDiscovered(ref.namespace) ? object : undefined);
  const listeners = new Set<() => void>();
  const shownRules = () => [...rules.values()].filter(({ ref }) => isDiscovered(ref.namespace));
  return {
    get snapshot() {
      return publisher.snapshot;
    },
    subscribe: publisher.subscribe,
    set: (key, rule) => {
      const before = rules.get(key);
      const ref = rule?.ref ?? before?.ref;
      if (ref !== undefined) dirty.set(key, ref);
      faulty.delete(key);
      if (rule === undefined) rules.delete(key);
      // What cannot be used leaves in force what was there before, as everywhere.
      else rules.set(key, { ...rule, object: rule.object ?? before?.object });
      if (rule !== undefined && rule.problems.length > 0) faulty.add(key);
    },
    rules: shownRules,
    versionOf: (ref) => rules.get(objectKey(ref))?.origin?.resourceVersion,
    subscribeRules: (listener) => {
      const entry = () => listener();
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    namespacesChanged: () => {
      areNamespacesDirty = true;
    },
    commit: () => {
      if (dirty.size === 0 && !areNamespacesDirty) return;
      if (areNamespacesDirty) for (const [key, { ref }] of rules) dirty.set(key, ref);
      areNamespacesDirty = false;
      const patches = [...dirty].map(([key, ref]): ObjectPatch => {
        const rule = rules.get(key);
        return [ref, rule && shown(rule)];
      });
      dirty.clear();
      const problems = [...faulty].flatMap((key) => {
        const rule = rules.get(key);
        return rule !== undefined && isDiscovered(rule.ref.namespace) ? rule.problems : [];
      });
      publisher.apply(patches, problems);
      for (const listener of [...listeners]) listener();
    },
  };
}

function originOf(document: unknown, resource: RuleOrigin["resource"]): RuleOrigin {
  const { metadata = {}, status } = document as {
    readonly metadata?: Readonly<Record<string, unknown>>;
    readonly status?: unknown;
  };
  const { uid, generation, resourceVersion } = metadata;
  return {
    resource,
    uid: String(uid ?? ""),
    generation: Number(generation ?? 0),
    resourceVersion: String(resourceVersion ?? ""),
    status,
  };
}

/** Who set which field is of no use here, and often larger than the object. Nor is the status, of entries of workloads aside, a rule. */
function withoutBookkeeping(document: unknown): unknown {
  const { metadata, ...all } = document as {
    readonly metadata?: Readonly<Record<string, unknown>>;
    readonly kind?: unknown;
    readonly status?: unknown;
  };
  const { status, ...spec } = all;
  const rest = all.kind === "WorkloadEntry" && status !== undefined ? all : spec;
  if (metadata === undefined) return document;
  const { managedFields: _managed, annotations, ...kept } = metadata;
  const { "kubectl.kubernetes.io/last-applied-configuration": _applied, ...own } = (annotations ?? {}) as Record<
    string,
    unknown
  >;
  return { ...rest, metadata: { ...kept, ...(Object.keys(own).length > 0 && { annotations: own }) } };
}
