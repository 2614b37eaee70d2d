import { DUE_CHANGES, type Due, mergeDue } from "./plan-answer.ts";

export interface DueQueueOptions<Type> {
  /** Types that go before others, and in which order. */
  readonly order: readonly Type[];
  /** A promise: the client has not taken the message yet. Must not throw. */
  readonly send: (type: Type, why: Due) => Promise<void> | undefined;
  /** A promise of `send` was rejected: nothing more is sent until the next `drain`. */
  readonly onFailure?: (thrown: unknown) => void;
}

/** What is still to be sent to one client, type by type and one message at a time. */
export interface DueQueue<Type> {
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
