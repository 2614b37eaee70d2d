import type { Writable } from "node:stream";
import type { HttpRequest } from "../net/http-server/http-types.ts";

/** Longer than any pause of a reader that is still there. */
const STUCK_MS = 60_000;
const BEAT_MS = 15_000;

const EVENT_STREAM = {
  status: 200,
  contentType: "text/event-stream; charset=utf-8",
  // Compressed it would wait in the encoder; a proxy in between must not collect it either.
  headers: { "Cache-Control": "no-store", "Content-Encoding": "identity", "X-Accel-Buffering": "no" },
} as const;

/** One reader of a stream of events. Whoever reads slowly is left out, never buffered for. */
export interface EventReader {
  /** False: the reader has no room now; `onRoom` is called when it has. */
  send(event: string, data: string): boolean;
  readonly hasRoom: boolean;
}

/** Begins the answer; its reader ends it by going away, or by not reading for a minute. */
export function openEventStream(request: HttpRequest, onRoom: () => void): EventReader {
  const output = request.stream(EVENT_STREAM);
  output.on("error", () => undefined);
  let hasRoom = true;
  let stuck: NodeJS.Timeout | undefined;
  const write = (text: string): boolean => {
    if (!hasRoom || output.destroyed) return false;
    hasRoom = output.write(text);
    if (!hasRoom) stuck = setTimeout(() => request.abort(), STUCK_MS);
    return true;
  };
  output.on("drain", () => {
    clearTimeout(stuck);
    hasRoom = true;
    onRoom();
  });
  const beat = setInterval(() => write(": \n\n"), BEAT_MS);
  request.closed.addEventListener("abort", () => {
    clearInterval(beat);
    clearTimeout(stuck);
    endOf(output);
  });
  write("retry: 1000\n\n");
  return {
    send: (event, data) => write(`event: ${event}\ndata: ${data}\n\n`),
    get hasRoom() {
      return hasRoom;
    },
  };
}

function endOf(output: Writable): void {
  if (!output.destroyed) output.destroy();
}

export interface EventHub {
  /** Serialized once for all readers. */
  publish(topic: string, value: unknown): void;
  last(topic: string): string | undefined;
  /** What was is over: the next reader waits for what is. */
  forget(topic: string): void;
  open(request: HttpRequest): void;
  readonly readers: number;
}

interface Subscriber {
  readonly reader: EventReader;
  /** Topics that have changed while there was no room. */
  readonly missed: Set<string>;
}

/** Topics whose every event is their whole state: a reader without room gets the newest of each later, and no more. */
export function createEventHub(onReaders: (count: number) => void): EventHub {
  const states = new Map<string, string>();
  const subscribers = new Set<Subscriber>();
  const give = ({ reader, missed }: Subscriber, topic: string) => {
    const state = states.get(topic);
    if (state === undefined) return;
    if (reader.hasRoom) reader.send(topic, state);
    else missed.add(topic);
  };
  return {
    publish(topic, value) {
      states.set(topic, JSON.stringify(value));
      for (const subscriber of subscribers) give(subscriber, topic);
    },
    last: (topic) => states.get(topic),
    forget: (topic) => void states.delete(topic),
    open(request) {
      const missed = new Set<string>();
      const catchUp = () => {
        for (const topic of [...missed]) {
          missed.delete(topic);
          give(subscriber, topic);
        }
      };
      const subscriber: Subscriber = { reader: openEventStream(request, catchUp), missed };
      subscribers.add(subscriber);
      request.closed.addEventListener("abort", () => {
        subscribers.delete(subscriber);
        onReaders(subscribers.size);
      });
      for (const topic of states.keys()) give(subscriber, topic);
      onReaders(subscribers.size);
    },
    get readers() {
      return subscribers.size;
    },
  };
}
