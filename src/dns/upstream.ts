import { randomFillSync } from "node:crypto";

/** Settles at most once: with the reply as received, or with the reason why there is none. */
export type UpstreamDone = (outcome: Buffer | Error) => void;

/** One way to ask a nameserver. The transaction id of the message is replaced by a random one. */
export interface UpstreamTransport {
  /** Returns a function that gives the query up; `done` is not called after it. */
  query(server: string, message: Buffer, done: UpstreamDone): () => void;
  /** Whether a query that came in is one that went out here, back through some redirection. */
  isOwn(localPort: number, message: Buffer): boolean;
  stop(): Promise<void>;
}

/** Unpredictable 16-bit numbers; a block at a time, as asking the generator for two bytes costs as much as for thousands. */
export function createTransactionIds(): () => number {
  const block = Buffer.alloc(4096);
  let at = block.length;
  return () => {
    if (at === block.length) {
      randomFillSync(block);
      at = 0;
    }
    const id = block.readUInt16BE(at);
    at += 2;
    return id;
  };
}
