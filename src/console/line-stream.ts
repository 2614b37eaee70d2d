import type { HttpRequest } from "../net/http-server/http-types.ts";
import { openEventStream } from "./event-hub.ts";

export interface LineStream<Item> {
  add(items: readonly Item[]): void;
}

/**
 * Items one after the other, for a reader that may be slower than they come: at most `maxItems` wait for it, and those that found no room
 * are counted. Sent together a few times a second.
 */
export function openLineStream<Item>(
  request: HttpRequest,
  {
    event,
    maxItems,
    everyMs,
    toData,
  }: {
    readonly event: string;
    readonly maxItems: number;
    readonly everyMs: number;
    toData(items: readonly Item[], dropped: number): unknown;
  },
): LineStream<Item> {
  let waiting: Item[] = [];
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    timer = undefined;
    if (!reader.hasRoom || (waiting.length === 0 && dropped === 0)) return;
    reader.send(event, JSON.stringify(toData(waiting, dropped)));
    [waiting, dropped] = [[], 0];
  };
  const reader = openEventStream(request, flush);
  request.closed.addEventListener("abort", () => clearTimeout(timer));
  return {
    add(items) {
      if (request.closed.aborted) return;
      const room = Math.max(0, maxItems - waiting.length);
      waiting.push(...items.slice(0, room));
      dropped += Math.max(0, items.length - room);
      timer ??= setTimeout(flush, everyMs);
    },
  };
}
