import { hostname } from "node:os";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { wait } from "../../base/wait.ts";
import type { ClusterApi } from "./cluster-api.ts";

export interface LeaseOptions {
  readonly api: ClusterApi;
  readonly namespace: string;
  readonly name: string;
  /** Of this replica; unique among them. */
  readonly identity: string;
  readonly log: Logger;
  onChange(isLeader: boolean): void;
  /** How long a holder that says nothing counts; 30 s. Renewed three times within it. */
  readonly durationMs?: number;
}

export interface Lease extends Handle {
  readonly isLeader: boolean;
}

interface LeaseSpec {
  readonly holderIdentity?: string | null;
  readonly leaseDurationSeconds?: number;
  readonly renewTime?: string;
  readonly acquireTime?: string;
  readonly leaseTransitions?: number;
}

/**
 * One replica at a time holds it. As with the reference's clients, the time another holder has left is measured by this process's own
 * clock from the moment its last renewal was seen: clocks of machines need not agree.
 */
export function startLease(options: LeaseOptions): Lease {
  const { api, namespace, name, identity, log, onChange, durationMs = 30_000 } = options;
  const resource = { group: "coordination.k8s.io", version: "v1", plural: "leases", namespace };
  const ending = new AbortController();
  const { signal } = ending;
  const retryMs = durationMs / 6;
  const renewMs = durationMs / 3;
  let isLeader = false;
  let seen: { readonly version: string; readonly at: number } | undefined;
  let renewedAt = Number.NEGATIVE_INFINITY;

  const set = (next: boolean) => {
    if (next === isLeader) return;
    isLeader = next;
    log.info(next ? "this replica writes to the cluster from now on" : "another replica writes to the cluster", {
      lease: `${namespace}/${name}`,
    });
    onChange(next);
  };
  const spec = (before: LeaseSpec): LeaseSpec => {
    const now = microTime(Date.now());
    const isSame = before.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1000),
      renewTime: now,
      acquireTime: (isSame ? before.acquireTime : undefined) ?? now,
      leaseTransitions: (before.leaseTransitions ?? 0) + (isSame ? 0 : 1),
    };
  };
  const acquire = async (): Promise<boolean> => {
    const found = await api.get(resource, name).catch((thrown: unknown) => {
      if (errorCode(thrown) !== "not-found") throw thrown;
    });
    if (found === undefined) {
      const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, namespace } };
      await api.create(resource, { ...lease, spec: spec({}) });
      return true;
    }
    const before = (found.spec ?? {}) as LeaseSpec;
    const version = found.metadata.resourceVersion ?? "";
    const last = seen?.version === version ? seen : { version, at: performance.now() };
    seen = last;
    const isFree = !before.holderIdentity || before.holderIdentity === identity;
    const lifeMs = (before.leaseDurationSeconds ?? 0) * 1000;
    if (!isFree && performance.now() - last.at < lifeMs) return false;
    await api.update(resource, { ...found, spec: spec(before) });
    return true;
  };
  const run = async () => {
    while (!signal.aborted) {
      try {
        const startedAt = performance.now();
        const isOurs = await acquire();
        if (isOurs) renewedAt = startedAt;
        set(isOurs && !signal.aborted);
      } catch (thrown) {
        const code = errorCode(thrown);
        const isRace = code === "conflict" || code === "already-exists";
        if (isRace) set(false);
        // A holder that cannot renew stops before others may begin.
        else if (performance.now() - renewedAt > durationMs * (2 / 3)) set(false);
        if (!isRace) log.debug("lease cannot be renewed", { lease: name, error: errorMessage(thrown) });
      }
      await wait(isLeader ? renewMs : retryMs, signal);
    }
  };
  const running = run();
  const release = async () => {
    const found = await api.get(resource, name);
    const before = (found.spec ?? {}) as LeaseSpec;
    if (before.holderIdentity !== identity) return;
    await api.update(resource, { ...found, spec: { ...before, holderIdentity: "" } });
  };
  return toHandle({
    get isLeader() {
      return isLeader;
    },
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      const held = isLeader;
      ending.abort();
      await running;
      isLeader = false;
      // The next replica need not wait for the lease to run out. An API server that is away must not keep this one from ending.
      if (held) await Promise.race([release().catch(() => undefined), wait(2000)]);
    },
  });
}

/** Leases have microseconds. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}

/** By which this replica is known to others, in leases and entries: its pod, or where there is none its process. */
export function replicaName(podName = ""): string {
  return podName || `${hostname()}-${process.pid}`;
}
