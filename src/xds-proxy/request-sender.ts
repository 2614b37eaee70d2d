import { wait } from "../base/wait.ts";
import type { FrameStream, RawClientCall } from "../grpc/index.ts";

/** Everything that goes upstream on one stream, in order: the client's requests, and the agent's own between them. */
export interface RequestSender {
  /** Never blocks and never refuses: requests are small, and a bounded queue could deadlock with a peer that is sending too. */
  enqueue(message: Buffer): void;
  /** Rejects with the first failure of a write; never resolves. */
  readonly failed: Promise<never>;
  /** Resolves when nothing waits in the queue; rejects as `failed` does. */
  idle(): Promise<void>;
  /** For a watchdog: whether the peer leaves us waiting for room, and how far we are. */
  progress(): { readonly owed: boolean; readonly count: number };
}

/** Large requests go out in pieces, so that a slow peer and a stuck one look different. */
const PIECE_BYTES = 256 * 1024;

export function createRequestSender(
  upstream: Pick<FrameStream, "writeFrameStart" | "writeFrameBytes">,
  onSent: () => void,
): RequestSender {
  const queue: Buffer[] = [];
  let sending = false;
  let drained: Promise<void> = Promise.resolve();
  let waiting = false;
  let sent = 0;
  let fail: (reason: unknown) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  failed.catch(() => undefined);

  const drain = async () => {
    sending = true;
    for (let message = queue.shift(); message !== undefined; message = queue.shift()) {
      upstream.writeFrameStart(message.length);
      for (let offset = 0; offset < message.length; offset += PIECE_BYTES) {
        const room = upstream.writeFrameBytes(message.subarray(offset, offset + PIECE_BYTES));
        if (room === undefined) continue;
        waiting = true;
        await room;
        waiting = false;
        sent += 1;
      }
      onSent();
    }
    sending = false;
  };

  return {
    failed,
    idle: () => drained,
    progress: () => ({ owed: waiting, count: sent }),
    enqueue(message) {
      queue.push(message);
      if (sending) return;
      drained = drain();
      drained.catch(fail);
    },
  };
}

/** A control plane that takes nothing any more is not waited for longer. */
const LAST_REQUESTS_MS = 1000;

/** What a client has said before it left is still said to the control plane, and that nothing more will come. */
export async function sendLastRequests(
  sender: Pick<RequestSender, "idle">,
  call: Pick<RawClientCall, "end" | "sent">,
): Promise<void> {
  const done = new AbortController();
  const sent = sender.idle().then(() => {
    call.end();
    return call.sent();
  });
  await Promise.race([sent.catch(() => undefined), wait(LAST_REQUESTS_MS, done.signal)]);
  done.abort();
}
