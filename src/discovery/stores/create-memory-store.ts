import type { AnyConfigObject, ObjectRef } from "../../istio-api/config-object.ts";
import { decodeObject } from "../../istio-api/decode/decode-object.ts";
import type { Problem } from "../../istio-api/validation/report.ts";
import type { ConfigStore } from "../../mesh-model/config-store.ts";
import { formatPath } from "../../protobuf/json/read-message.ts";
import { createSnapshotPublisher } from "./config-snapshot.ts";

/** One thing wrong with an object that was put. */
export interface PutProblem {
  readonly field: string;
  readonly message: string;
  readonly severity: "error" | "warning";
}

export type PutResult =
  | {
      readonly stored: true;
      readonly object: AnyConfigObject;
      readonly created: boolean;
      readonly problems: readonly PutProblem[];
    }
  | { readonly stored: false; readonly problems: readonly PutProblem[] };

export interface MemoryStore extends ConfigStore {
  /** Decodes and validates a document (JSON data); stores it only when it has no error. */
  put(document: unknown): PutResult;
  /** Stores an object that was decoded and has no error. */
  add(object: AnyConfigObject): { readonly object: AnyConfigObject; readonly created: boolean };
  /** False when there was none. */
  delete(ref: ObjectRef): boolean;
}

export interface MemoryStoreOptions {
  /** For objects that name none; "default" when absent. */
  readonly defaultNamespace?: string;
  /** Creation time of objects that bring none. */
  readonly now?: () => number;
}

/** Rule objects that live as long as the process; changes are seen at once. */
export function createMemoryStore({
  defaultNamespace = "default",
  now = Date.now,
}: MemoryStoreOptions = {}): MemoryStore {
  const publisher = createSnapshotPublisher();
  const add = (object: AnyConfigObject) => {
    const { kind, namespace, name } = object;
    const known = publisher.snapshot.get(kind, namespace, name);
    const creationTime = object.creationTime === 0 ? (known?.creationTime ?? now()) : object.creationTime;
    const aged = Object.freeze({ ...object, creationTime }) as AnyConfigObject;
    publisher.apply([[object, aged]], []);
    const stored = publisher.snapshot.get(kind, namespace, name) as AnyConfigObject | undefined;
    return { object: stored ?? aged, created: known === undefined };
  };
  const put = (document: unknown): PutResult => {
    // The caller may go on using its document.
    const { object, ignoredKind, problems } = decodeObject(clone(document), { defaultNamespace });
    if (object === undefined) {
      const unknown = {
        field: "kind",
        message: `unknown kind ${JSON.stringify(ignoredKind)}`,
        severity: "error",
      } as const;
      return { stored: false, problems: ignoredKind === undefined ? problems.map(toPutProblem) : [unknown] };
    }
    return { stored: true, ...add(object), problems: problems.map(toPutProblem) };
  };
  return {
    get snapshot() {
      return publisher.snapshot;
    },
    subscribe: publisher.subscribe,
    put,
    add,
    delete: (ref) => {
      const existed = publisher.snapshot.get(ref.kind, ref.namespace, ref.name) !== undefined;
      if (existed) publisher.apply([[ref, undefined]], []);
      return existed;
    },
  };
}

function clone(document: unknown): unknown {
  try {
    return structuredClone(document);
  } catch {
    // Functions and symbols are not data; the decoder says what it found.
    return undefined;
  }
}

function toPutProblem({ path, message, severity }: Problem): PutProblem {
  return { field: formatPath(path), message, severity };
}
