import { gzipPieces } from "../../grpc/index.ts";
import type { XdsProtocol } from "../../xds/methods.ts";
import type { XdsType } from "../../xds/xds-types.ts";
import { traitsOf } from "../../xds/xds-types.ts";
import type { Plan } from "./core/plan-answer.ts";
import { deltaChunks, sotwChunks } from "./core/response-chunks.ts";
import type { AdsMetrics } from "./metrics.ts";
import { countSendFailure } from "./send-failures.ts";

export interface AnswerWriterOptions {
  readonly protocol: XdsProtocol;
  readonly write: (chunks: readonly Uint8Array[], compressed: boolean) => Promise<void> | undefined;
  /** The client takes compressed messages. */
  readonly compresses?: boolean;
  readonly metrics: AdsMetrics;
}

export interface Answer {
  readonly plan: Plan;
  readonly version: string;
  readonly nonce: string;
}

/** Writes answers to one client in its protocol and encoding. A promise says that the client is behind. */
export function createAnswerWriter(
  options: AnswerWriterOptions,
): (type: XdsType, answer: Answer) => Promise<void> | undefined {
  const { metrics } = options;
  return (type, { plan, version, nonce }) => {
    const { url, metric } = traitsOf(type);
    const head = { version, typeUrl: url, nonce };
    const chunks =
      options.protocol === "sotw" ? sotwChunks(head, plan.body) : deltaChunks(head, plan.body, plan.removed);
    const room = writeChunks(options, metric, chunks);
    metrics.pushes.inc([metric]);
    metrics.configSize.observe(byteLength(chunks), [metric]);
    return room;
  };
}

function writeChunks(
  { compresses, write, metrics }: AnswerWriterOptions,
  metric: string,
  chunks: readonly Uint8Array[],
): Promise<void> | undefined {
  try {
    const packed = compresses === true ? gzipPieces(chunks) : undefined;
    const room = write(packed ?? chunks, packed !== undefined);
    metrics.sentBytes.inc([packed === undefined ? "identity" : "gzip"], byteLength(packed ?? chunks));
    return room;
  } catch (thrown) {
    countSendFailure(metrics, metric, thrown);
    throw thrown;
  }
}

function byteLength(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((total, { length }) => total + length, 0);
}
