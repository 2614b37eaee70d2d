import { assembleMessages, type FrameStream } from "../grpc/index.ts";

type Take = (message: Buffer) => void | Promise<void>;

/** The requests of a client, read from the moment it connects: who answers them is decided later, and may change once. */
export interface ClientInbox {
  /** What the client says first; pending until it does. Those behind it wait in the transport until they are taken. */
  readonly first: Promise<Buffer>;
  /** False after `forget`, or when there were too many requests to store. */
  readonly canRepeat: boolean;
  /** Everything goes to `take`, beginning with the first. Settles as the client's side ends, or with what `take` throws. */
  deliver(take: Take): Promise<void>;
  /** The same for another taker, who gets everything from the first one on again. */
  repeat(take: Take): Promise<void>;
  /** Nothing has to be repeated any more. */
  forget(): void;
}

/** Far more than a starting Envoy sends before its first response. */
const MAX_STORED_BYTES = 1024 * 1024;

export function openInbox(downstream: Pick<FrameStream, "readFrames">): ClientInbox {
  let taker: Take | undefined;
  let stored: Buffer[] | undefined = [];
  let storedBytes = 0;
  let onFirst: (message: Buffer) => void = () => undefined;
  let onTaker: () => void = () => undefined;
  const first = new Promise<Buffer>((resolve) => {
    onFirst = resolve;
  });
  const taken = new Promise<void>((resolve) => {
    onTaker = resolve;
  });
  const store = (message: Buffer): Buffer => {
    if (stored === undefined) return message;
    const copy = Buffer.from(message);
    stored.push(copy);
    storedBytes += copy.length;
    if (storedBytes > MAX_STORED_BYTES) stored = undefined;
    return copy;
  };
  const reading = downstream.readFrames(
    assembleMessages((message) => {
      const own = store(message);
      if (taker !== undefined) return taker(own);
      onFirst(own);
      return taken.then(() => taker?.(own));
    }),
  );
  return {
    first,
    get canRepeat() {
      return stored !== undefined;
    },
    deliver(take) {
      taker = take;
      onTaker();
      return reading;
    },
    async repeat(take) {
      const messages = stored ?? [];
      stored = undefined;
      const repeated = inTurn(messages, take);
      taker = (message) => repeated.then(() => take(message));
      await Promise.all([repeated, reading]);
    },
    forget() {
      stored = undefined;
    },
  };
}

async function inTurn(messages: readonly Buffer[], take: Take): Promise<void> {
  for (const message of messages) await take(message);
}
