import { type BackoffOptions, backoffDelayMs } from "../../base/backoff.ts";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { wait } from "../../base/wait.ts";
import type { ObjectRef } from "../../istio-api/config-object.ts";
import type { ApiObject } from "../../kubernetes/index.ts";
import { isTransient } from "../../kubernetes/index.ts";
import type { ApiResource, ClusterApi } from "../cluster/cluster-api.ts";
import type { HealthCondition } from "./create-workload-store.ts";
import {
  connectedAnnotations,
  disconnectedAnnotations,
  isController,
  isDisconnected,
  isRegistered,
} from "./entry-life.ts";

export interface EntryWriterOptions {
  readonly api: ClusterApi;
  /** WorkloadEntries as the API server has them now; undefined while it does not know the kind. */
  readonly resource: () => Omit<ApiResource, "namespace"> | undefined;
  /** Of this replica; in the entry's annotations. */
  readonly controller: string;
  readonly log: Logger;
}

/** WorkloadEntries in a cluster, for the workloads that are connected to this replica. */
export interface EntryWriter {
  /** Creates the entry, or takes it over. `document` is absent for entries that somebody else made. Resolves to whether it is stored. */
  connected(ref: ObjectRef, connectedAt: number, document: object | undefined): Promise<boolean>;
  reported(ref: ObjectRef, condition: HealthCondition): void;
  disconnected(ref: ObjectRef, connectedAt: number): void;
  /** The time to come back is over: an entry of ours that was registered is deleted, another loses what was reported of it. */
  expired(ref: ObjectRef): void;
  /** What was begun is written, or given up after so long. */
  flush(limitMs: number): Promise<void>;
}

const RETRY: BackoffOptions = { initialMs: 200, maxMs: 5000, factor: 2, jitter: 0.2 };
const MAX_TRIES = 6;

/** Changes of one entry are written in order. Each looks at the entry first: another replica may have it by now. */
export function createEntryWriter({ api, resource, controller, log }: EntryWriterOptions): EntryWriter {
  const queues = new Map<string, Promise<unknown>>();
  const enqueue = <Result>(
    { namespace, name }: ObjectRef,
    what: string,
    write: (kind: ApiResource, name: string) => Promise<Result>,
  ): Promise<Result | undefined> => {
    const key = `${namespace}/${name}`;
    const before = queues.get(key) ?? Promise.resolve();
    const done = before
      .then(() => {
        const kind = resource();
        return kind && insist(() => write({ ...kind, namespace }, name));
      })
      .catch((thrown: unknown) => {
        log.warn("WorkloadEntry cannot be written", { entry: key, what, error: errorMessage(thrown) });
        return undefined;
      })
      .finally(() => {
        if (queues.get(key) === done) queues.delete(key);
      });
    queues.set(key, done);
    return done;
  };
  const find = (kind: ApiResource, name: string) =>
    api.get(kind, name).catch((thrown: unknown) => {
      if (errorCode(thrown) !== "not-found") throw thrown;
      return undefined;
    });
  const annotate = (kind: ApiResource, { metadata }: ApiObject, annotations: object) =>
    api.patch(
      kind,
      metadata.name,
      { metadata: { resourceVersion: metadata.resourceVersion, annotations } },
      { type: "merge" },
    );
  const setConditions = (kind: ApiResource, { metadata }: ApiObject, conditions: readonly object[]) =>
    api.patch(
      kind,
      metadata.name,
      { metadata: { resourceVersion: metadata.resourceVersion }, status: { conditions } },
      { type: "merge", subresource: "status" },
    );
  const own = async (kind: ApiResource, name: string): Promise<ApiObject | undefined> => {
    const entry = await find(kind, name);
    return entry !== undefined && isController(annotationsOf(entry), controller) ? entry : undefined;
  };
  return {
    connected: async (ref, connectedAt, document) => {
      const isStored = await enqueue(ref, "connected", async (kind, name) => {
        const entry = await find(kind, name);
        if (entry === undefined) {
          if (document === undefined) return false;
          // In the version that is read: the group may have been written in another.
          await api.create(kind, { ...document, apiVersion: `${kind.group}/${kind.version}` });
          return true;
        }
        const annotations = connectedAnnotations(annotationsOf(entry), controller, connectedAt);
        if (annotations !== undefined) await annotate(kind, entry, annotations);
        return true;
      });
      return isStored === true;
    },
    reported: (ref, condition) => {
      void enqueue(ref, "health", async (kind, name) => {
        const entry = await own(kind, name);
        if (entry === undefined || isSaid(conditionsOf(entry), condition)) return;
        await setConditions(kind, entry, [...withoutHealth(entry), condition]);
      });
    },
    disconnected: (ref, connectedAt) => {
      const disconnectedAt = Date.now();
      void enqueue(ref, "disconnected", async (kind, name) => {
        const entry = await find(kind, name);
        const times = { connectedAt, disconnectedAt };
        const annotations = entry && disconnectedAnnotations(annotationsOf(entry), controller, times);
        if (entry !== undefined && annotations !== undefined) await annotate(kind, entry, annotations);
      });
    },
    expired: (ref) => {
      void enqueue(ref, "clean-up", async (kind, name) => {
        const entry = await own(kind, name);
        if (entry !== undefined && isDisconnected(annotationsOf(entry))) await cleanUp(api, kind, entry);
      });
    },
    flush: async (limitMs) => {
      await Promise.race([Promise.all(queues.values()), wait(limitMs)]);
    },
  };

  function withoutHealth(entry: ApiObject): readonly Condition[] {
    return conditionsOf(entry).filter(({ type }) => type !== "Healthy");
  }
}

/** Rejects with `conflict` when the entry is another one by now: its workload may be back. */
export async function cleanUp(api: ClusterApi, kind: ApiResource, entry: ApiObject): Promise<void> {
  const { name, uid, resourceVersion } = entry.metadata;
  if (isRegistered(annotationsOf(entry))) {
    await api.delete(kind, name, { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) });
    return;
  }
  const conditions = conditionsOf(entry);
  const rest = conditions.filter(({ type }) => type !== "Healthy");
  if (rest.length === conditions.length) return;
  await api.patch(
    kind,
    name,
    { metadata: { resourceVersion }, status: { conditions: rest } },
    { type: "merge", subresource: "status" },
  );
}

interface Condition {
  readonly type?: unknown;
  readonly status?: unknown;
  readonly message?: unknown;
}

export function annotationsOf({ metadata }: ApiObject): Readonly<Record<string, string>> {
  return metadata.annotations ?? {};
}

function conditionsOf({ status }: ApiObject): readonly Condition[] {
  const { conditions } = (status ?? {}) as { readonly conditions?: unknown };
  return Array.isArray(conditions) ? conditions : [];
}

/** What is equal already is not written. */
function isSaid(conditions: readonly Condition[], { type, status, message }: HealthCondition): boolean {
  return conditions.some((known) => known.type === type && known.status === status && known.message === message);
}

/** A conflict is answered with another look, a server that is away with a pause. */
async function insist<Result>(write: () => Promise<Result>): Promise<Result> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await write();
    } catch (thrown) {
      const code = errorCode(thrown);
      const isRace = code === "conflict" || code === "already-exists";
      if (failures >= MAX_TRIES || !(isRace || isTransient(thrown))) throw thrown;
      await wait(isRace ? 0 : backoffDelayMs(RETRY, failures));
    }
  }
}
