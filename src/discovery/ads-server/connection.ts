import { randomUUID } from "node:crypto";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { goStatusName, gzipPieces } from "../../grpc/index.ts";
import type { ProxyNode } from "../proxy/proxy-node.ts";
import { changedTypes } from "../snapshot/changes/changed-types.ts";
import { mergeChanges, NO_CHANGES, type PushChanges } from "../snapshot/changes/push-changes.ts";
import type { ProxyView, PushSnapshot } from "../snapshot/push-snapshot.ts";
import { DUE_CHANGES, type Due, mergeDue, type Plan, planDelta, planSotw } from "./core/plan-answer.ts";
import { deltaChunks, sotwChunks } from "./core/response-chunks.ts";
import { type Decision, type Refusal, type Watch, withSent } from "./core/watch.ts";
import { traitsOf, XDS_TYPES } from "./core/xds-types.ts";
import type { AdsMetrics } from "./metrics.ts";
import type { ResourceSet, ResourceSource, XdsType } from "./resource-source.ts";
import { countSendFailure, isDoneWithin } from "./send-failures.ts";

export type XdsProtocol = "sotw" | "delta";

/** What one client is, watches and was sent. */
export interface Connection {
  /** The node's own name and a number: one workload may have several streams. */
  readonly id: string;
  readonly node: ProxyNode;
  readonly protocol: XdsProtocol;
  readonly peerAddress: string;
  /** Proven; empty on plaintext. */
  readonly identities: readonly string[];
  readonly connectedAt: number;
  readonly watches: ReadonlyMap<XdsType, Watch>;
  /** What the client was last sent of a type. */
  sent(type: XdsType): ResourceSet | undefined;
  view(): ProxyView;
  /** What happened since the last push; to be called in the turn in which the new snapshot appears. */
  note(changes: PushChanges): void;
  /**
   * Looks what the newest snapshot has for the client and sends it. Resolves when the network took everything, or at once when the
   * client is behind: then it gets, as soon as it reads again, what is newest by then.
   */
  push(): Promise<void>;
  /** Ends the stream; the client is expected to come back. */
  close(reason: string): void;
}

export interface ConnectionOptions {
  readonly id: string;
  readonly node: ProxyNode;
  readonly protocol: XdsProtocol;
  readonly peerAddress: string;
  readonly identities: readonly string[];
  readonly source: ResourceSource;
  readonly snapshot: () => PushSnapshot;
  readonly write: (chunks: readonly Uint8Array[], compressed: boolean) => Promise<void> | undefined;
  /** The client takes compressed messages. */
  readonly compresses?: boolean;
  readonly close: (reason: string) => void;
  /** A client that has not taken a message by then is sent away; undefined: it may take its time. */
  readonly sendTimeoutMs?: number | undefined;
  readonly metrics: AdsMetrics;
  readonly log: Logger;
  readonly now: () => number;
}

export interface OwnedConnection extends Connection {
  watch(type: XdsType): Watch | undefined;
  /** Takes over what a request led to, and answers. */
  apply(type: XdsType, decision: Decision, held?: ReadonlyMap<string, string>): void;
  /** The stream is over: series about it go. */
  ended(): void;
}

/** A slow client gives its place among the concurrent pushes to others after this time. */
const HOLD_MS = 200;

/**
 * Sends to one client, one message at a time: while the client does not read, only marks of what is due are kept, never messages, so a
 * client that stopped reading costs no more than one that is idle.
 */
export function createConnection(options: ConnectionOptions): OwnedConnection {
  const { node, source, metrics, now } = options;
  const watches = new Map<XdsType, Watch>();
  const sent = new Map<XdsType, ResourceSet>();
  const due = new Map<XdsType, Due>();
  let view: ProxyView | undefined;
  /** Of the last push; undefined when every type has to be looked at with the next one. */
  let pushedView: ProxyView | undefined;
  let noted: PushChanges = NO_CHANGES;
  let sending: Promise<void> | undefined;
  let isBehind = false;
  let isOver = false;

  const currentView = (): ProxyView => {
    const snapshot = options.snapshot();
    if (view?.snapshot !== snapshot) view = snapshot.view(node);
    return view;
  };
  const mark = (type: XdsType, why: Due) => due.set(type, mergeDue(due.get(type), why));

  /** Promise: the client is behind. */
  const sendType = (type: XdsType, why: Due): Promise<void> | undefined => {
    const watch = watches.get(type);
    if (watch === undefined || (!watch.isWildcard && watch.names.list.length === 0)) return undefined;
    const startedAt = now();
    const traits = traitsOf(type);
    const next = watch.isWildcard
      ? source.all(currentView(), type)
      : source.named(currentView(), type, watch.names.list);
    const isWholeState = traits.isWholeState || node.generator === "grpc";
    const input = { sent: sent.get(type), next, due: why, isWholeState, isSilentWhenEmpty: traits.isSilentWhenEmpty };
    const plan = options.protocol === "sotw" ? planSotw(input) : planDelta(input, { keepsRemoved: traits.needsNames });
    sent.set(type, next);
    metrics.pushTime.observe((now() - startedAt) / 1000, [traits.metric]);
    if (plan === undefined) return undefined;
    const room = write(type, plan, next);
    // A cluster that changes warms anew and waits for endpoints, also for those it already had.
    if (type === "CDS") markEndpoints(plan, why.everything);
    return room;
  };
  const markEndpoints = (plan: Plan, everything: boolean) => {
    const endpoints = watches.get("EDS");
    if (endpoints === undefined) return;
    const names = plan.changed.map(({ name }) => name).filter((name) => endpoints.names.has(name));
    if (everything || names.length > 0) mark("EDS", { everything, names: new Set(names), held: new Map() });
  };
  const write = (type: XdsType, plan: Plan, next: ResourceSet): Promise<void> | undefined => {
    const watch = watches.get(type);
    const { url, metric } = traitsOf(type);
    const nonce = `${currentView().snapshot.version}${randomUUID()}`;
    const head = { version: next.version, typeUrl: url, nonce };
    const chunks =
      options.protocol === "sotw" ? sotwChunks(head, plan.body) : deltaChunks(head, plan.body, plan.removed);
    const room = writeChunks(metric, chunks);
    if (watch !== undefined) watches.set(type, withSent(watch, { nonce, version: next.version, now: now() }));
    metrics.pushes.inc([metric]);
    metrics.configSize.observe(byteLength(chunks), [metric]);
    return room;
  };

  const writeChunks = (metric: string, chunks: readonly Uint8Array[]): Promise<void> | undefined => {
    try {
      const packed = options.compresses === true ? gzipPieces(chunks) : undefined;
      const room = options.write(packed ?? chunks, packed !== undefined);
      metrics.sentBytes.inc([packed === undefined ? "identity" : "gzip"], byteLength(packed ?? chunks));
      return room;
    } catch (thrown) {
      countSendFailure(metrics, metric, thrown);
      throw thrown;
    }
  };

  const sendAll = async (): Promise<void> => {
    while (due.size > 0 && !isOver) {
      const type = XDS_TYPES.find((each) => due.has(each.type))?.type;
      if (type === undefined) return;
      const why = due.get(type) ?? DUE_CHANGES;
      due.delete(type);
      const room = attempt(type, why);
      if (room === undefined) continue;
      isBehind = true;
      await untilTaken(type, room);
      isBehind = false;
    }
  };
  const untilTaken = async (type: XdsType, room: Promise<void>): Promise<void> => {
    const startedAt = now();
    room.catch((thrown: unknown) => countSendFailure(metrics, traitsOf(type).metric, thrown));
    const isTaken = await isDoneWithin(room, options.sendTimeoutMs);
    metrics.sendTime.observe((now() - startedAt) / 1000);
    if (isTaken) return;
    metrics.writeTimeouts.inc();
    isOver = true;
    options.close(`the client has not read an answer for ${options.sendTimeoutMs} ms`);
  };
  /** What cannot be made is left out: the client keeps what it has, and its other types go on. */
  const attempt = (type: XdsType, why: Due): Promise<void> | undefined => {
    try {
      return sendType(type, why);
    } catch (thrown) {
      if (isOver) return undefined;
      metrics.internalErrors.inc();
      pushedView = undefined;
      options.log.error("resources could not be made", { type, proxy: options.id, error: errorMessage(thrown) });
      return undefined;
    }
  };
  const send = (): Promise<void> => {
    sending ??= sendAll()
      .catch(() => undefined) // the stream is over, which its reader meets too
      .finally(() => {
        sending = undefined;
        if (due.size > 0 && !isOver) void send();
      });
    return sending;
  };

  return {
    ...options,
    connectedAt: now(),
    watches,
    sent: (type) => sent.get(type),
    view: currentView,
    watch: (type) => watches.get(type),
    apply: (type, { watch, event, answer }, held = new Map()) => {
      const { metric } = traitsOf(type);
      const before = watches.get(type);
      countEvent(metrics, options.node.id, { metric, event, before, after: watch });
      if (watch === undefined) {
        watches.delete(type);
        sent.delete(type);
        due.delete(type);
        return;
      }
      watches.set(type, watch);
      if (event === "subscribed") sent.delete(type);
      if (answer === "nothing") return;
      const everything = answer === "everything";
      mark(type, { everything, names: new Set(everything ? [] : answer), held });
      void send();
    },
    note: (changes) => {
      noted = mergeChanges(noted, changes);
    },
    push: async () => {
      const changes = noted;
      noted = NO_CHANGES;
      if (isBehind) {
        // Nobody keeps an old state for a client that does not read: it is looked at as a whole when it does.
        for (const type of watches.keys()) mark(type, DUE_CHANGES);
        view = undefined;
        pushedView = undefined;
        return;
      }
      const types = changedTypes(currentView(), pushedView, changes);
      for (const type of watches.keys()) if (types.has(type)) mark(type, DUE_CHANGES);
      pushedView = currentView();
      const finished = send();
      await (isBehind ? isDoneWithin(finished, HOLD_MS) : finished);
    },
    close: options.close,
    ended: () => {
      isOver = true;
      due.clear();
      for (const [type, before] of watches) {
        const { metric } = traitsOf(type);
        countEvent(metrics, options.node.id, { metric, event: "unsubscribed", before, after: undefined });
      }
    },
  };
}

function byteLength(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((total, { length }) => total + length, 0);
}

function countEvent(
  metrics: AdsMetrics,
  proxy: string,
  change: { metric: string; event: Decision["event"]; before: Watch | undefined; after: Watch | undefined },
): void {
  const { metric, event, before, after } = change;
  if (event === "stale") metrics.expiredNonces.inc([metric]);
  if (event === "nacked") metrics.rejects.inc([metric]);
  // The code alone: what the client says may be long and always new, which a series must not be.
  const labels = (error: Refusal) => [proxy, goStatusName(error.code)];
  if (before?.error !== undefined) metrics.rejectedBy[metric]?.remove(labels(before.error));
  if (after?.error !== undefined) metrics.rejectedBy[metric]?.set(1, labels(after.error));
}
