import { errorMessage } from "../../base/coded-error.ts";
import { createDebounced } from "../../base/debounce.ts";
import type { Logger } from "../../base/logger.ts";
import { mergeChanges, NO_CHANGES, type PushChanges } from "../../mesh-model/changes/push-changes.ts";
import type { PushSnapshot } from "../../mesh-model/push-snapshot.ts";
import type { PushSettings } from "../../settings/discovery-settings.ts";
import type { PushMetrics } from "./metrics.ts";
import { createPushQueue } from "./push-queue.ts";

/** The words operators know from the reference's metrics. */
export type PushReason = "config" | "service" | "endpoint" | "global" | "debug" | "networks";

export interface PushClient {
  /** When it is the client's turn: sends what the newest snapshot has for it and it does not have. */
  push(): Promise<void>;
}

export interface PusherOptions {
  readonly settings: PushSettings;
  /** Makes the snapshot of this moment. Parts that did not change should be the same values as before. */
  readonly build: (previous: PushSnapshot | undefined) => PushSnapshot;
  readonly clients: () => readonly PushClient[];
  /** Called after a snapshot is in force, and clients know of it. */
  readonly onPush?: (changes: PushChanges) => void;
  readonly metrics: PushMetrics;
  readonly log: Logger;
}

export interface Pusher {
  readonly snapshot: PushSnapshot;
  /** Snapshots made so far, the first one included. */
  readonly pushes: number;
  /** Whether a change waits for its snapshot, or a client for its push. */
  readonly isPending: boolean;
  trigger(reason: PushReason, changes: PushChanges): void;
  /** Resolves when nothing runs any more. */
  stop(): Promise<void>;
}

/** Turns bursts of changes into single snapshots and brings them to all clients. Owns its timers until it is stopped. */
export function startPusher({ settings, build, clients, onPush, metrics, log }: PusherOptions): Pusher {
  let snapshot = build(undefined);
  let pushes = 1;
  let firstAt: number | undefined;
  let reasons = new Map<PushReason, number>();
  let changes: PushChanges = NO_CHANGES;
  const queue = createPushQueue<PushClient>({
    concurrency: settings.concurrency,
    serve: async (client, since) => {
      metrics.queueTime.observe((performance.now() - since) / 1000);
      await client.push().catch((thrown: unknown) => log.error("push failed", { error: errorMessage(thrown) }));
      metrics.convergenceTime.observe((performance.now() - since) / 1000);
    },
  });
  const push = async (): Promise<void> => {
    const since = firstAt ?? performance.now();
    firstAt = undefined;
    const startedAt = performance.now();
    metrics.debounceTime.observe((startedAt - since) / 1000);
    try {
      snapshot = build(snapshot);
    } catch (thrown) {
      // The mesh goes on with what it had; the next change tries again.
      log.error("snapshot could not be made, the last one stays", { error: errorMessage(thrown) });
      return;
    }
    const happened = changes;
    const why = reasons;
    changes = NO_CHANGES;
    reasons = new Map();
    pushes += 1;
    metrics.snapshotTime.observe((performance.now() - startedAt) / 1000);
    for (const [reason, times] of why) metrics.pushTriggers.inc([reason], times);
    const all = clients();
    log.info("push", { version: snapshot.version, proxies: all.length, reasons: [...why.keys()].join(",") });
    if (isNothing(happened)) return;
    for (const client of all) queue.enqueue(client, since);
    onPush?.(happened);
  };
  const timing = { quietMs: settings.debounceAfterMs, maxWaitMs: settings.debounceMaxMs };
  const debounced = createDebounced(push, timing);
  return {
    get snapshot() {
      return snapshot;
    },
    get pushes() {
      return pushes;
    },
    get isPending() {
      return firstAt !== undefined || !queue.isIdle;
    },
    trigger: (reason, more) => {
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      changes = mergeChanges(changes, more);
      firstAt ??= performance.now();
      const endpointsOnly = more.endpoints.size > 0 && isNothing({ ...more, endpoints: NO_CHANGES.endpoints });
      // Making a snapshot does not wait for anything, so two never overlap.
      if (endpointsOnly && !settings.debouncesEndpoints) void push();
      else debounced.trigger();
    },
    stop: async () => {
      await debounced.stop();
      await queue.stop();
    },
  };
}

function isNothing({ forced, objects, services, endpoints, workloads }: PushChanges): boolean {
  return !forced && !workloads && objects.length === 0 && services.size === 0 && endpoints.size === 0;
}
