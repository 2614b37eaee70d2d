import type { BodyStream } from "../../net/http1/request-http1.ts";
import type { BlockPool } from "./block-pool.ts";
import type { BlockWriter } from "./block-writer.ts";
import { ScrapeError } from "./fetch-source.ts";

/** The first part of a body. When it is not whole, the stream waits where the chunks end. */
export interface BodyHead {
  readonly chunks: readonly Buffer[];
  readonly isWhole: boolean;
  /** Gives the chunks' memory back; they must not be used afterwards. */
  release(): void;
}

/** Reads until the body ends or has more than `limitBytes`. Rejects when it breaks off. */
export function readHead(stream: BodyStream, limitBytes: number, pool: BlockPool): Promise<BodyHead> {
  return new Promise((resolve, reject) => {
    const blocks: Buffer[] = [];
    let size = 0;
    let last: Buffer | undefined;
    let used = 0;
    const onData = (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; ) {
        if (last === undefined || used === last.length) {
          last = pool.take();
          used = 0;
          blocks.push(last);
        }
        const copied = chunk.copy(last, used, at);
        used += copied;
        at += copied;
      }
      size += chunk.length;
      if (size > limitBytes) finish(false);
    };
    const onEnd = () => finish(true);
    const onClose = () => reject(stream.errored ?? brokeOff());
    const finish = (isWhole: boolean) => {
      stream.off("data", onData);
      stream.off("end", onEnd);
      stream.off("close", onClose);
      stream.pause();
      const chunks = blocks.map((block) => (block === last ? block.subarray(0, used) : block));
      resolve({ chunks, isWhole, release: () => blocks.splice(0).forEach(pool.give) });
    };
    // Stays for the stream's whole life: it may fail while it is not read. Readers listen for `close`.
    stream.on("error", () => undefined);
    stream.on("data", onData);
    stream.on("end", onEnd);
    stream.on("close", onClose);
    stream.resume();
  });
}

/** Goes on where the head ended, as fast as the output takes it. Rejects with what `onChunk` throws, or when the body breaks off. */
export function readRest(stream: BodyStream, out: BlockWriter, onChunk: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (thrown: unknown) => {
      reject(thrown);
      stream.destroy();
    };
    if (stream.destroyed) return fail(stream.errored ?? brokeOff());
    stream.on("data", (chunk: Buffer) => {
      try {
        onChunk(chunk);
      } catch (thrown) {
        return fail(thrown);
      }
      if (!out.isFull) return;
      stream.pause();
      void out.drained().then(() => stream.resume());
    });
    stream.on("end", resolve);
    stream.on("close", () => fail(stream.errored ?? brokeOff()));
    stream.resume();
  });
}

function brokeOff(): ScrapeError {
  return new ScrapeError("unreachable", "unexpected EOF");
}
