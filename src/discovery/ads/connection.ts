import { randomUUID } from "node:crypto";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { changedTypes } from "../../mesh-model/changes/changed-types.ts";
import { mergeChanges, NO_CHANGES, type PushChanges } from "../../mesh-model/changes/push-changes.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";
import type { ProxyView, PushSnapshot } from "../../mesh-model/push-snapshot.ts";
import type { XdsProtocol } from "../../xds/methods.ts";
import type { ResourceSet, ResourceSource } from "../../xds/resource-source.ts";
import type { XdsType } from "../../xds/xds-types.ts";
import { traitsOf } from "../../xds/xds-types.ts";
import { type AnswerWriterOptions, createAnswerWriter } from "./answer-writer.ts";
import { DUE_CHANGES, type Due, type Plan, planDelta, planSotw } from "./core/plan-answer.ts";
import { type Decision, type Watch, withSent } from "./core/watch.ts";
import { countWatchEvent } from "./count-watch-event.ts";
import { createDueQueue } from "./due-queue.ts";
import { countSendFailure, isDoneWithin } from "./send-failures.ts";

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

export interface ConnectionOptions extends AnswerWriterOptions {
  readonly id: string;
  readonly node: ProxyNode;
  readonly peerAddress: string;
  readonly identities: readonly string[];
  readonly source: ResourceSource<ProxyView>;
  readonly snapshot: () => PushSnapshot;
  readonly close: (reason: string) => void;
  /** A client that has not taken a message by then is sent away; undefined: it may take its time. */
  readonly sendTimeoutMs?: number | undefined;
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

/** Keeps what one client watches, works out what a new snapshot means for it and sends that. */
export function createConnection(options: ConnectionOptions): OwnedConnection {
  const { node, source, metrics, now } = options;
  const watches = new Map<XdsType, Watch>();
  const sent = new Map<XdsType, ResourceSet>();
  const write = createAnswerWriter(options);
  let view: ProxyView | undefined;
  /** Of the last push; undefined when every type has to be looked at with the next one. */
  let pushedView: ProxyView | undefined;
  let noted: PushChanges = NO_CHANGES;

  const currentView = (): ProxyView => {
    const snapshot = options.snapshot();
    if (view?.snapshot !== snapshot) view = snapshot.view(node);
    return view;
  };

  const sendType = (type: XdsType, why: Due): Promise<void> | undefined => {
    const watch = watches.get(type);
    if (watch === undefined || (!watch.isWildcard && watch.names.list.length === 0)) return undefined;
    const startedAt = now();
    const traits = traitsOf(type);
    const next = watch.isWildcard
      ? source.all(currentView(), type)
      : source.named(currentView(), type, watch.names.list);
    const isWholeState = traits.isWholeState || node.generator === "grpc";
    const input = { sent: sent.get(type), next, due: why, isWholeState, skipsEmpty: traits.skipsEmpty };
    const plan = options.protocol === "sotw" ? planSotw(input) : planDelta(input, { keepsRemoved: traits.needsNames });
    sent.set(type, next);
    metrics.pushTime.observe((now() - startedAt) / 1000, [traits.metric]);
    if (plan === undefined) return undefined;
    const answer = { plan, version: next.version, nonce: `${currentView().snapshot.version}${randomUUID()}` };
    const room = write(type, answer);
    watches.set(type, withSent(watch, { ...answer, now: now() }));
    // A cluster that changes warms anew and waits for endpoints, also for those it already had.
    if (type === "CDS") markEndpoints(plan, why.everything);
    return room;
  };
  const markEndpoints = (plan: Plan, everything: boolean) => {
    const endpoints = watches.get("EDS");
    if (endpoints === undefined) return;
    const names = plan.changed.map(({ name }) => name).filter((name) => endpoints.names.has(name));
    if (everything || names.length > 0) queue.mark("EDS", { everything, names: new Set(names), held: new Map() });
  };
  /** What cannot be made is left out: the client keeps what it has, and its other types go on. */
  const send = (type: XdsType, why: Due): Promise<void> | undefined => {
    try {
      return sendType(type, why);
    } catch (thrown) {
      if (queue.isOver) return undefined;
      metrics.internalErrors.inc();
      pushedView = undefined;
      options.log.error("resources could not be made", { type, proxy: options.id, error: errorMessage(thrown) });
      return undefined;
    }
  };
  const untilTaken = async (type: XdsType, room: Promise<void>): Promise<void> => {
    const startedAt = now();
    room.catch((thrown: unknown) => countSendFailure(metrics, traitsOf(type).metric, thrown));
    const isTaken = await isDoneWithin(room, options.sendTimeoutMs);
    metrics.sendTime.observe((now() - startedAt) / 1000);
    if (isTaken) return;
    metrics.writeTimeouts.inc();
    queue.end();
    options.close(`the client has not read an answer for ${options.sendTimeoutMs} ms`);
  };
  const queue = createDueQueue({ send, untilTaken });

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
      countWatchEvent(metrics, options.node.id, { metric, event, before, after: watch });
      if (watch === undefined) {
        watches.delete(type);
        sent.delete(type);
        queue.forget(type);
        return;
      }
      watches.set(type, watch);
      if (event === "subscribed") sent.delete(type);
      if (answer === "nothing") return;
      const everything = answer === "everything";
      queue.mark(type, { everything, names: new Set(everything ? [] : answer), held });
      void queue.drain();
    },
    note: (changes) => {
      noted = mergeChanges(noted, changes);
    },
    push: async () => {
      const changes = noted;
      noted = NO_CHANGES;
      if (queue.isBehind) {
        // Nobody keeps an old state for a client that does not read: it is looked at as a whole when it does.
        for (const type of watches.keys()) queue.mark(type, DUE_CHANGES);
        view = undefined;
        pushedView = undefined;
        return;
      }
      const types = changedTypes(currentView(), pushedView, changes);
      for (const type of watches.keys()) if (types.has(type)) queue.mark(type, DUE_CHANGES);
      pushedView = currentView();
      const finished = queue.drain();
      await (queue.isBehind ? isDoneWithin(finished, HOLD_MS) : finished);
    },
    close: options.close,
    ended: () => {
      queue.end();
      for (const [type, before] of watches) {
        const { metric } = traitsOf(type);
        countWatchEvent(metrics, options.node.id, { metric, event: "unsubscribed", before, after: undefined });
      }
    },
  };
}
