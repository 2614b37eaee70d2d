import { randomUUID } from "node:crypto";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import type { Gauge } from "../../base/metric-registry.ts";
import { goStatusName } from "../../grpc/index.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";
import type { ProxyView, PushSnapshot } from "../../mesh-model/push-snapshot.ts";
import type { XdsProtocol } from "../../xds/methods.ts";
import { DUE_CHANGES, type Plan } from "../../xds/plan-answer.ts";
import { createResourceSet } from "../../xds/resource-set.ts";
import type { ResourceSet, ResourceSource } from "../../xds/resource-source.ts";
import { createServerStream } from "../../xds/server-stream.ts";
import type { Decision, Nack, Subscription } from "../../xds/subscription.ts";
import { traitsOf, XDS_TYPES, type XdsType } from "../../xds/xds-types.ts";
import type { ClientCredentials } from "../credentials/create-credential-source.ts";
import { type AnswerWriterOptions, countSendFailure, createAnswerWriter, isDoneWithin } from "./answer-writer.ts";
import type { AdsMetrics } from "./metrics.ts";

/** Nacks of one proxy that stand, by series: it may have an old stream that ends beside the new one. */
const unresolved = new WeakMap<Gauge, Map<string, number>>();

/** What one client is, has subscribed to and was sent. */
export interface Connection {
  /** The node's own name and a number: one workload may have several streams. */
  readonly id: string;
  readonly node: ProxyNode;
  readonly protocol: XdsProtocol;
  readonly peerAddress: string;
  /** Proven; empty on plaintext. */
  readonly identities: readonly string[];
  readonly connectedAt: number;
  readonly subscriptions: ReadonlyMap<XdsType, Subscription>;
  /** What the client was last sent of a type. */
  sent(type: XdsType): ResourceSet | undefined;
  view(): ProxyView;
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
  readonly protocol: XdsProtocol;
  readonly peerAddress: string;
  readonly identities: readonly string[];
  readonly source: ResourceSource<ProxyView>;
  readonly snapshot: () => PushSnapshot;
  /** Stored credentials for the client, from its first subscription to one on; absent: there are none. */
  readonly openCredentials?: ((view: () => ProxyView, onChange: () => void) => ClientCredentials) | undefined;
  readonly close: (reason: string) => void;
  /** A client that has not taken a message by then is disconnected; undefined: never. */
  readonly sendTimeoutMs?: number | undefined;
  readonly log: Logger;
  readonly now: () => number;
}

export interface OwnedConnection extends Connection {
  /** Takes over what a request led to, and answers. */
  apply(type: XdsType, decision: Decision, held?: ReadonlyMap<string, string>): void;
  /** The stream is over: series about it go. */
  ended(): void;
}

/** A slow client leaves its slot among the concurrent pushes to others after this time. */
const HOLD_MS = 200;
const NO_RESOURCES = createResourceSet([]);
const PUSH_ORDER: readonly XdsType[] = XDS_TYPES.map(({ type }) => type);

/** Works out what a new snapshot means for one client, and when it is sent. */
export function createConnection(options: ConnectionOptions): OwnedConnection {
  const { node, source, metrics, now } = options;
  const write = createAnswerWriter(options);
  let view: ProxyView | undefined;

  const currentView = (): ProxyView => {
    const snapshot = options.snapshot();
    if (view?.snapshot !== snapshot) view = snapshot.view(node);
    return view;
  };
  let credentials: ClientCredentials | undefined;
  const credentialsOf = (): ClientCredentials | undefined => {
    credentials ??= options.openCredentials?.(currentView, () => {
      for (const type of ["SDS", "ECDS"] as const) if (stream.subscriptions.has(type)) stream.mark(type, DUE_CHANGES);
      void stream.drain();
    });
    return credentials;
  };
  /** Modules of some extensions are fetched with a Secret, which is not among what proxies share. */
  const extensionsNamed = (names: readonly string[]): ResourceSet => {
    const set = source.named(currentView(), "ECDS", names);
    const needsSecrets = set.resources.some(({ pullSecret }) => pullSecret !== undefined);
    return needsSecrets ? (credentialsOf()?.withPullSecrets(set) ?? set) : set;
  };
  const untilTaken = async (type: XdsType, room: Promise<void>): Promise<void> => {
    const startedAt = now();
    room.catch((thrown: unknown) => countSendFailure(metrics, traitsOf(type).metric, thrown));
    const isTaken = await isDoneWithin(room, options.sendTimeoutMs);
    metrics.sendTime.observe((now() - startedAt) / 1000);
    if (isTaken) return;
    metrics.writeTimeouts.inc();
    stream.end();
    options.close(`the client has not read an answer for ${options.sendTimeoutMs} ms`);
  };
  /** A cluster that changes warms again and waits for endpoints, also for those it already had. */
  const markEndpoints = (plan: Plan, everything: boolean) => {
    const endpoints = stream.subscriptions.get("EDS");
    if (endpoints === undefined) return;
    const names = plan.changed.map(({ name }) => name).filter((name) => endpoints.names.has(name));
    if (everything || names.length > 0) stream.mark("EDS", { everything, names: new Set(names), held: new Map() });
  };
  const stream = createServerStream<XdsType>({
    protocol: options.protocol,
    order: PUSH_ORDER,
    typeUrl: (type) => traitsOf(type).url,
    resources: (type, { isWildcard, names }) => {
      if (type === "SDS") return credentialsOf()?.named(names.list) ?? NO_RESOURCES;
      if (type === "ECDS" && !isWildcard) return extensionsNamed(names.list);
      return isWildcard ? source.all(currentView(), type) : source.named(currentView(), type, names.list);
    },
    policy: (type) => {
      const { isWholeState, skipsEmpty, needsNames } = traitsOf(type);
      const isRemovable = needsNames ? undefined : () => true;
      return { isWholeState: isWholeState || node.generator === "grpc", skipsEmpty, isRemovable };
    },
    version: ({ version }) => version,
    nonce: () => `${currentView().snapshot.version}${randomUUID()}`,
    write: (type, chunks) => {
      const room = write(type, chunks);
      return room && untilTaken(type, room);
    },
    onPlanned: (type, ms) => metrics.pushTime.observe(ms / 1000, [traitsOf(type).metric]),
    onSent: (type, plan, due) => {
      if (type === "CDS") markEndpoints(plan, due.everything);
    },
    // What cannot be generated is left out: the client has what it had, and its other types go on.
    onFailure: (type, thrown) => {
      metrics.internalErrors.inc();
      options.log.error("resources could not be made", { type, proxy: options.id, error: errorMessage(thrown) });
    },
    now,
  });

  return {
    ...options,
    connectedAt: now(),
    subscriptions: stream.subscriptions,
    sent: stream.sent,
    view: currentView,
    apply: (type, decision, held) => {
      const before = stream.subscriptions.get(type);
      const { event, subscription: after } = decision;
      countRequest(metrics, options.node.id, { metric: traitsOf(type).metric, event, before, after });
      void stream.apply(type, decision, held);
      // What is no longer subscribed to is no longer missed.
      if (type === "SDS" && decision.answer === "nothing") credentials?.named(after?.names.list ?? []);
    },
    push: async () => {
      // What is the same value as was sent is not sent: resources know what they were made from.
      for (const type of stream.subscriptions.keys()) stream.mark(type, DUE_CHANGES);
      if (stream.isBehind) {
        // No old state is held for a client that does not read: all of it is looked at when it does.
        view = undefined;
        return;
      }
      const finished = stream.drain();
      await (stream.isBehind ? isDoneWithin(finished, HOLD_MS) : finished);
    },
    close: options.close,
    ended: () => {
      stream.end();
      credentials?.close();
      for (const [type, before] of stream.subscriptions) {
        const { metric } = traitsOf(type);
        countRequest(metrics, options.node.id, { metric, event: "unsubscribed", before, after: undefined });
      }
    },
  };
}

interface RequestOutcome {
  readonly metric: string;
  readonly event: Decision["event"];
  readonly before: Subscription | undefined;
  readonly after: Subscription | undefined;
}

/** Counts what a proxy's request meant; the series of a NACK is there until a later response is ACKed. */
export function countRequest(metrics: AdsMetrics, proxy: string, change: RequestOutcome): void {
  const { metric, event, before, after } = change;
  if (event === "stale") metrics.expiredNonces.inc([metric]);
  if (event === "nacked") metrics.rejects.inc([metric]);
  if (before?.error === after?.error) return;
  if (before?.error !== undefined) countNack(metrics, metric, { proxy, error: before.error, by: -1 });
  if (after?.error !== undefined) countNack(metrics, metric, { proxy, error: after.error, by: 1 });
}

function countNack(
  { rejectedBy }: AdsMetrics,
  metric: string,
  { proxy, error, by }: { readonly proxy: string; readonly error: Nack; readonly by: 1 | -1 },
): void {
  const gauge = rejectedBy[metric];
  if (gauge === undefined) return;
  const counts = unresolved.get(gauge) ?? new Map<string, number>();
  unresolved.set(gauge, counts);
  // The code alone: what the client says may be long and always new, which a series must not be.
  const labels = [proxy, goStatusName(error.code)];
  const key = JSON.stringify(labels);
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) {
    counts.set(key, count);
    gauge.set(1, labels);
  } else {
    counts.delete(key);
    gauge.remove(labels);
  }
}
