import type { XdsType } from "../../xds/xds-types.ts";
import { XDS_TYPES } from "../../xds/xds-types.ts";
import { DUE_CHANGES, type Due, mergeDue } from "./core/plan-answer.ts";

export interface DueQueueOptions {
  /** A promise: the client is behind. Must not throw. */
  readonly send: (type: XdsType, why: Due) => Promise<void> | undefined;
  /** Resolves when the client took what was sent; rejects when the stream is over. */
  readonly untilTaken: (type: XdsType, room: Promise<void>) => Promise<void>;
}

/** What is still to be sent to one client, type by type and one message at a time. */
export interface DueQueue {
  /** The client has not taken the last message yet. */
  readonly isBehind: boolean;
  readonly isOver: boolean;
  mark(type: XdsType, why: Due): void;
  forget(type: XdsType): void;
  /** Sends what is due, in the order of the types; resolves when nothing is. */
  drain(): Promise<void>;
  /** Nothing is sent any more. */
  end(): void;
}

/**
 * While the client does not read, only marks of what is due are kept, never messages, so a client that stopped reading costs no more than
 * one that is idle.
 */
export function createDueQueue({ send, untilTaken }: DueQueueOptions): DueQueue {
  const due = new Map<XdsType, Due>();
  let sending: Promise<void> | undefined;
  let isBehind = false;
  let isOver = false;

  const sendAll = async (): Promise<void> => {
    while (due.size > 0 && !isOver) {
      const type = XDS_TYPES.find((each) => due.has(each.type))?.type;
      if (type === undefined) return;
      const why = due.get(type) ?? DUE_CHANGES;
      due.delete(type);
      const room = send(type, why);
      if (room === undefined) continue;
      isBehind = true;
      await untilTaken(type, room);
      isBehind = false;
    }
  };
  const drain = (): Promise<void> => {
    sending ??= sendAll()
      .catch(() => undefined) // the stream is over, which its reader meets too
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
