import { encodeResponse } from "./encode-response.ts";
import type { XdsProtocol } from "./methods.ts";
import { type AnswerPolicy, DUE_CHANGES, type Due, mergeDue, type Plan, planDelta, planSotw } from "./plan-answer.ts";
import type { ResourceSet } from "./resource-source.ts";
import { type Decision, type Subscription, withSent } from "./subscription.ts";

/** `Type` is what the server calls its resource types: short names or type URLs. */
export interface ServerStreamOptions<Type> {
  readonly protocol: XdsProtocol;
  /** The order in which responses are sent when several types are due; types that are not listed come last. */
  readonly order?: readonly Type[];
  typeUrl(type: Type): string;
  /** What the subscription stands for now. A promise: it has to be fetched. */
  resources(type: Type, subscription: Subscription, due: Due): ResourceSet | Promise<ResourceSet>;
  policy(type: Type, subscription: Subscription): AnswerPolicy;
  version(set: ResourceSet, type: Type): string;
  nonce(set: ResourceSet): string;
  /** A promise settles when the network has taken the message. */
  write(type: Type, chunks: readonly Buffer[]): Promise<void> | undefined;
  /** Resources were had and the response planned in this time, be it that nothing has to be sent. */
  onPlanned?(type: Type, ms: number): void;
  onSent?(type: Type, plan: Plan, due: Due): void;
  /** Resources that could not be had, or a write that threw: nothing was sent. */
  onFailure(type: Type, thrown: unknown): void;
  /** A promise of `resources` or of `write` was rejected. */
  onBroken?(thrown: unknown): void;
  readonly now: () => number;
}

/** One client's stream: its subscriptions, what it was sent, and what is due. Knows nothing of gRPC and of identity. */
export interface ServerStream<Type> {
  readonly subscriptions: ReadonlyMap<Type, Subscription>;
  /** The client has not taken the last message yet. */
  readonly isBehind: boolean;
  /** What the client was last sent of a type. */
  sent(type: Type): ResourceSet | undefined;
  /** Takes over what a request led to, and answers; resolves when nothing is due. */
  apply(type: Type, decision: Decision, held?: ReadonlyMap<string, string>): Promise<void>;
  /** A response of the type may be due. */
  mark(type: Type, why: Due): void;
  /** Sends what is due; resolves when nothing is. */
  drain(): Promise<void>;
  end(): void;
}

/** Answers requests and changes of the resources, one message at a time and never more than the client reads. */
export function createServerStream<Type>(options: ServerStreamOptions<Type>): ServerStream<Type> {
  const { protocol, now } = options;
  const subscriptions = new Map<Type, Subscription>();
  const sent = new Map<Type, ResourceSet>();

  const answer = (type: Type, due: Due, next: ResourceSet, startedAt: number): Promise<void> | undefined => {
    const subscription = subscriptions.get(type);
    if (subscription === undefined) return undefined;
    // What it was sent is the newest: most types of most pushes.
    if (due === DUE_CHANGES && sent.get(type) === next) return void options.onPlanned?.(type, now() - startedAt);
    const { list: names } = subscription.names;
    const input = { sent: sent.get(type), next, due, names, ...options.policy(type, subscription) };
    const plan = protocol === "sotw" ? planSotw(input) : planDelta(input);
    sent.set(type, next);
    options.onPlanned?.(type, now() - startedAt);
    if (plan === undefined) return undefined;
    const head = { version: options.version(next, type), typeUrl: options.typeUrl(type), nonce: options.nonce(next) };
    const taken = options.write(type, encodeResponse(protocol, head, plan));
    subscriptions.set(type, withSent(subscription, { ...head, now: now() }));
    options.onSent?.(type, plan, due);
    return taken;
  };

  const send = (type: Type, due: Due): Promise<void> | undefined => {
    const subscription = subscriptions.get(type);
    if (subscription === undefined || (!subscription.isWildcard && subscription.names.list.length === 0))
      return undefined;
    const startedAt = now();
    try {
      const next = options.resources(type, subscription, due);
      if (!(next instanceof Promise)) return answer(type, due, next, startedAt);
      return next.then((fetched) => {
        if (queue.isOver) return undefined;
        // A request may have come meanwhile: what it asks for has to be fetched as well.
        if (subscriptions.get(type)?.names !== subscription.names) return queue.mark(type, due);
        return answer(type, due, fetched, startedAt);
      });
    } catch (thrown) {
      if (!queue.isOver) options.onFailure(type, thrown);
      return undefined;
    }
  };
  const queue = createDueQueue<Type>({
    order: options.order ?? [],
    send,
    ...(options.onBroken && { onFailure: options.onBroken }),
  });

  return {
    subscriptions,
    get isBehind() {
      return queue.isBehind;
    },
    sent: (type) => sent.get(type),
    apply(type, { subscription, event, answer: asked }, held = new Map()) {
      if (subscription === undefined) {
        subscriptions.delete(type);
        sent.delete(type);
        queue.forget(type);
        return Promise.resolve();
      }
      subscriptions.set(type, subscription);
      if (event === "subscribed") sent.delete(type);
      if (asked === "nothing") return Promise.resolve();
      const everything = asked === "everything";
      queue.mark(type, { everything, names: new Set(everything ? [] : asked), held });
      return queue.drain();
    },
    mark: (type, why) => queue.mark(type, why),
    drain: () => queue.drain(),
    end: () => queue.end(),
  };
}

interface DueQueueOptions<Type> {
  /** Types that go before others, and in which order. */
  readonly order: readonly Type[];
  /** A promise: the client has not taken the message yet. Must not throw. */
  readonly send: (type: Type, why: Due) => Promise<void> | undefined;
  /** A promise of `send` was rejected: nothing more is sent until the next `drain`. */
  readonly onFailure?: (thrown: unknown) => void;
}

/** What is still to be sent to one client, type by type and one message at a time. */
interface DueQueue<Type> {
  /** The client has not taken the last message yet. */
  readonly isBehind: boolean;
  readonly isOver: boolean;
  mark(type: Type, why: Due): void;
  forget(type: Type): void;
  /** Sends what is due, in the order of the types; resolves when nothing is. */
  drain(): Promise<void>;
  /** Nothing is sent any more. */
  end(): void;
}

/**
 * While the client does not read, only marks of what is due are held, never messages, so a client that stopped reading costs no more than
 * one that is idle.
 */
export function createDueQueue<Type>({ order, send, onFailure }: DueQueueOptions<Type>): DueQueue<Type> {
  const due = new Map<Type, Due>();
  let sending: Promise<void> | undefined;
  let isBehind = false;
  let isOver = false;

  const sendAll = async (): Promise<void> => {
    while (due.size > 0 && !isOver) {
      const type = order.find((each) => due.has(each)) ?? (due.keys().next().value as Type);
      const why = due.get(type) ?? DUE_CHANGES;
      due.delete(type);
      const taken = send(type, why);
      if (taken === undefined) continue;
      isBehind = true;
      await taken;
      isBehind = false;
    }
  };
  const drain = (): Promise<void> => {
    sending ??= sendAll()
      .catch((thrown: unknown) => onFailure?.(thrown))
      .finally(() => {
        sending = undefined;
        if (due.size > 0 && !isOver) void drain();
      });
    return sending;
  };
  return {
    get isBehind() {
      return isBehind;
    },
    get isOver() {
      return isOver;
    },
    mark: (type, why) => void due.set(type, mergeDue(due.get(type), why)),
    forget: (type) => void due.delete(type),
    drain,
    end: () => {
      isOver = true;
      due.clear();
    },
  };
}
