import type { FrameStream } from "../grpc/index.ts";

/** Everything that goes upstream on one stream, in order: the client's requests, and the agent's own between them. */
export interface RequestSender {
  /** Never blocks and never refuses: requests are small, and a bounded queue could deadlock with a peer that is sending too. */
  enqueue(message: Buffer): void;
  /** Rejects with the first failure of a write; never resolves. */
  readonly failed: Promise<never>;
}

export function createRequestSender(
  upstream: Pick<FrameStream, "writeFrameStart" | "writeFrameBytes">,
  onSent: () => void,
): RequestSender {
  const queue: Buffer[] = [];
  let sending = false;
  let fail: (reason: unknown) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  failed.catch(() => undefined);

  const drain = async () => {
    sending = true;
    for (let message = queue.shift(); message !== undefined; message = queue.shift()) {
      upstream.writeFrameStart(message.length);
      const room = message.length === 0 ? undefined : upstream.writeFrameBytes(message);
      onSent();
      if (room !== undefined) await room;
    }
    sending = false;
  };

  return {
    failed,
    enqueue(message) {
      queue.push(message);
      if (!sending) drain().catch(fail);
    },
  };
}
