import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import { GrpcError, gzipPieces } from "../../grpc/index.ts";
import { traitsOf, type XdsType } from "../../xds/xds-types.ts";
import type { AdsMetrics } from "./metrics.ts";

export interface AnswerWriterOptions {
  readonly write: (chunks: readonly Uint8Array[], compressed: boolean) => Promise<void> | undefined;
  /** The client takes compressed messages. */
  readonly compresses?: boolean;
  readonly metrics: AdsMetrics;
}

/** Compresses and counts the responses to one client. A promise says that the client is behind. */
export function createAnswerWriter({ write, compresses, metrics }: AnswerWriterOptions) {
  return (type: XdsType, chunks: readonly Uint8Array[]): Promise<void> | undefined => {
    const { metric } = traitsOf(type);
    let room: Promise<void> | undefined;
    try {
      const packed = compresses === true ? gzipPieces(chunks) : undefined;
      room = write(packed ?? chunks, packed !== undefined);
      metrics.sentBytes.inc([packed === undefined ? "identity" : "gzip"], byteLength(packed ?? chunks));
    } catch (thrown) {
      countSendFailure(metrics, metric, thrown);
      throw thrown;
    }
    metrics.pushes.inc([metric]);
    metrics.configSize.observe(byteLength(chunks), [metric]);
    return room;
  };
}

function byteLength(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((total, { length }) => total + length, 0);
}

/** Counts a send that failed for another reason than that the client went away, which it may at any time. */
export function countSendFailure(metrics: Pick<AdsMetrics, "pushes">, metric: string, thrown: unknown): void {
  const isEnd = thrown instanceof GrpcError && (thrown.code === "CANCELLED" || thrown.code === "UNAVAILABLE");
  if (!isEnd) metrics.pushes.inc([`${metric}_senderr`]);
}

/** False when the work is not done by then; it goes on. Without a limit it is waited for as long as it takes. */
export async function isDoneWithin(work: Promise<void>, ms: number | undefined): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    if (ms !== undefined) timer = setTimeout(() => resolve(false), Math.min(ms, MAX_TIMER_MS));
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
