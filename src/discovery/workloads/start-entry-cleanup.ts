import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { ApiResource, ClusterApi } from "../cluster/cluster-api.ts";
import { annotationsOf, cleanUp } from "./create-entry-writer.ts";
import { isDisconnected, isLost, isRegistered } from "./entry-life.ts";
import { REGISTRATION } from "./workload-entry-of.ts";

export interface EntryCleanupOptions {
  readonly api: ClusterApi;
  /** WorkloadEntries as the API server has them now; undefined while it does not know the kind. */
  readonly resource: () => Omit<ApiResource, "namespace"> | undefined;
  /** Those of the cluster. */
  readonly entries: () => readonly ConfigObject<"WorkloadEntry">[];
  /** Whether this replica is the one that cleans up. */
  readonly isLeader: () => boolean;
  readonly graceMs: number;
  readonly maxConnectionAgeMs: number | undefined;
  readonly log: Logger;
  /** Between two looks; a quarter of the grace period, and a second at least, when absent. */
  readonly lookMs?: number;
}

/**
 * Deletes entries of workloads that did not come back, whichever replica they were connected to. How long they have been gone is measured by
 * this process's own clock from when it was first seen: clocks of machines need not agree.
 */
export function startEntryCleanup(options: EntryCleanupOptions): Handle {
  const { api, resource, entries, isLeader, graceMs, maxConnectionAgeMs, log } = options;
  const lookMs = options.lookMs ?? Math.max(1000, graceMs / 4);
  /** By entry and by when it says that it was disconnected. */
  let seen = new Map<string, number>();
  let running: Promise<void> = Promise.resolve();
  const isOver = (key: string, since: number) => {
    const first = seen.get(key) ?? since;
    seen.set(key, first);
    return since - first >= graceMs;
  };
  const isLeft = (annotations: Readonly<Record<string, string>>, isGone: boolean) =>
    isLost(annotations, Date.now(), maxConnectionAgeMs) || (isGone && isDisconnected(annotations));
  const look = async () => {
    const kind = resource();
    if (kind === undefined || !isLeader()) return void seen.clear();
    const now = performance.now();
    const before = seen;
    seen = new Map();
    for (const { namespace, name, annotations } of entries().filter((entry) => isOwned(entry))) {
      const key = `${namespace}/${name} ${annotations[REGISTRATION.disconnectedAt] ?? ""}`;
      const first = before.get(key);
      if (isDisconnected(annotations) && first !== undefined) seen.set(key, first);
      const isGone = isDisconnected(annotations) && isOver(key, now);
      if (isLeft(annotations, isGone)) await remove({ ...kind, namespace }, name, isGone);
    }
  };
  const remove = async (kind: ApiResource, name: string, isGone: boolean) => {
    try {
      const entry = await api.get(kind, name);
      if (!isLeft(annotationsOf(entry), isGone)) return;
      await cleanUp(api, kind, entry);
      log.info("workload did not come back, its entry was cleaned up", { entry: `${kind.namespace}/${name}` });
    } catch (thrown) {
      const code = errorCode(thrown);
      if (code === "not-found" || code === "conflict") return;
      log.warn("WorkloadEntry cannot be cleaned up", {
        entry: `${kind.namespace}/${name}`,
        error: errorMessage(thrown),
      });
    }
  };
  let isBusy = false;
  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    running = look().finally(() => {
      isBusy = false;
    });
  }, lookMs);
  timer.unref();
  return toHandle({
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  });
}

/** Registered by a control plane, or with health that an agent reported. */
function isOwned({ annotations, status }: ConfigObject<"WorkloadEntry">): boolean {
  if (isRegistered(annotations)) return true;
  const { conditions } = (status ?? {}) as { readonly conditions?: readonly { readonly type?: unknown }[] };
  const isChecked = annotations[REGISTRATION.healthChecks] === "true";
  return isChecked && (conditions ?? []).some(({ type }) => type === "Healthy");
}
