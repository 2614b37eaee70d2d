import { createHash } from "node:crypto";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import type { ClusterApi } from "../cluster/cluster-api.ts";

/** What an Event is about. */
export interface EventObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
}

export interface EventWriterOptions {
  readonly api: Pick<ClusterApi, "create" | "patch">;
  /** Of this replica. */
  readonly instance: string;
  readonly log: Logger;
  readonly now?: () => number;
}

export interface EventWriter extends Handle {
  /** A Warning. The same again counts up the one that is there. */
  warn(object: EventObject, reason: string, message: string): void;
}

/** A mesh that is wrong as a whole must not fill the API server: so many at once, then one each second. */
const BURST = 50;
const REFILL_MS = 1000;
/** The same is not said again within this time. */
const REPEAT_MS = 60_000;
const MAX_REMEMBERED = 10_000;
/** Of the API. */
const MAX_MESSAGE = 1024;
const REFUSED_MS = 300_000;

/** Events under names that follow from what they say: replicas and restarts count up one Event instead of making more. */
export function startEventWriter({ api, instance, log, now = Date.now }: EventWriterOptions): EventWriter {
  const sent = new Map<string, { count: number; at: number }>();
  const writing = new Set<Promise<void>>();
  let tokens = BURST;
  let filledAt = now();
  let leftOut = 0;
  let refusedUntil = 0;
  const take = (): boolean => {
    const filled = Math.floor((now() - filledAt) / REFILL_MS);
    if (filled > 0) {
      tokens = Math.min(BURST, tokens + filled);
      filledAt += filled * REFILL_MS;
    }
    if (tokens === 0) {
      leftOut += 1;
      return false;
    }
    tokens -= 1;
    if (leftOut > 0) log.warn("Events were left out, there are too many", { leftOut });
    leftOut = 0;
    return true;
  };
  const write = async (object: EventObject, name: string, reason: string, message: string, count: number) => {
    const resource = { group: "", version: "v1", plural: "events", namespace: object.namespace };
    const time = new Date(now()).toISOString().replace(/\.\d+Z$/, "Z");
    const event = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace: object.namespace },
      involvedObject: object,
      type: "Warning",
      reason,
      message: message.length <= MAX_MESSAGE ? message : `${message.slice(0, MAX_MESSAGE - 4)} ...`,
      source: { component: "istiod" },
      reportingComponent: "istiod",
      reportingInstance: instance,
      count: 1,
      firstTimestamp: time,
      lastTimestamp: time,
    };
    try {
      if (count === 1) await api.create(resource, event);
      else await api.patch(resource, name, { count, lastTimestamp: time }, { type: "merge" });
    } catch (thrown) {
      const code = errorCode(thrown);
      // Of another replica or of an earlier run; or it expired meanwhile.
      if (code === "already-exists") await api.patch(resource, name, { lastTimestamp: time }, { type: "merge" });
      else if (code === "not-found" && count > 1) sent.delete(name);
      else throw thrown;
    }
  };
  return toHandle({
    warn: (object: EventObject, reason: string, message: string) => {
      const text = [object.kind, object.namespace, object.name, object.uid ?? "", reason, message].join("\n");
      const digest = createHash("sha256").update(text).digest("hex").slice(0, 16);
      const name = `${object.name.slice(0, 200)}.${digest}`;
      const known = sent.get(name);
      if (now() < refusedUntil || (known !== undefined && now() - known.at < REPEAT_MS) || !take()) return;
      const count = (known?.count ?? 0) + 1;
      const [oldest] = sent.keys();
      if (known === undefined && sent.size >= MAX_REMEMBERED && oldest !== undefined) sent.delete(oldest);
      sent.set(name, { count, at: now() });
      const written = write(object, name, reason, message, count)
        .catch((thrown: unknown) => {
          if (errorCode(thrown) === "forbidden") refusedUntil = now() + REFUSED_MS;
          log.warn("Event cannot be written", { error: errorMessage(thrown) });
        })
        .finally(() => writing.delete(written));
      writing.add(written);
    },
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      await Promise.all(writing);
    },
  });
}
