import type { BlockWriter } from "./block-writer.ts";
import { ScrapeError } from "./fetch-source.ts";
import type { BodyStream } from "./http1-answer.ts";

/** The first part of a body. When it is not whole, the stream waits where the chunks end. */
export interface BodyHead {
  readonly chunks: readonly Buffer[];
  readonly isWhole: boolean;
}

/** Reads until the body ends or has more than `limitBytes`. Rejects when it breaks off. */
export function readHead(stream: BodyStream, limitBytes: number): Promise<BodyHead> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer) => {
      chunks.push(Buffer.from(chunk));
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
      resolve({ chunks, isWhole });
    };
    // Stays for the stream's whole life: it may fail while nobody reads. `close` tells those who do.
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
