import { createGrpcChannel, defineMethod, GrpcError, MetadataError, rawCodec } from "../../grpc/index.ts";
import { bytes, int64, message, nested, repeated, string, uint32 } from "../../protobuf/wire/message.ts";
import type { GrpcStatusName } from "../../protocol/grpc-status-names.ts";
import { checkPartialSuccess, OtlpError } from "./export-answer.ts";
import { type OtlpExporter, type OtlpSettings, readTls } from "./exporter.ts";

const EXPORT = defineMethod({
  path: "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
  kind: "unary",
  request: rawCodec,
  response: rawCodec,
});

/** OTLP over gRPC. The requests of one document share a connection; the next document has a new one, with the files as they are then. */
export function createGrpcExporter(settings: OtlpSettings): OtlpExporter {
  const { endpoint, timeoutMs, headers } = settings;
  const url = new URL(endpoint);
  const isSecure = url.protocol === "https:";
  const port = url.port || (isSecure ? "443" : "80");
  const channel = createGrpcChannel(`${url.hostname}:${port}`, { ...(isSecure && { tls: () => readTls(settings) }) });
  return {
    async send(body, signal) {
      try {
        checkPartialSuccess(await channel.unary(EXPORT, body, { metadata: headers, timeoutMs, signal }));
      } catch (thrown) {
        throw refusal(thrown, timeoutMs);
      }
    },
    [Symbol.asyncDispose]: () => channel.stop(),
  };
}

/** The list of OTLP's specification. RESOURCE_EXHAUSTED is retried too, when the collector says when. */
const RETRYABLE: ReadonlySet<GrpcStatusName> = new Set([
  "CANCELLED",
  "DEADLINE_EXCEEDED",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNAVAILABLE",
  "DATA_LOSS",
]);

function refusal(thrown: unknown, timeoutMs: number): unknown {
  if (thrown instanceof MetadataError) return new OtlpError("permanent", thrown.message, { cause: thrown });
  if (!(thrown instanceof GrpcError)) return thrown;
  const retryAfterMs = retryDelayMs(thrown.statusDetails);
  const isRetryable =
    RETRYABLE.has(thrown.code) || (thrown.code === "RESOURCE_EXHAUSTED" && retryAfterMs !== undefined);
  const text =
    thrown.code === "DEADLINE_EXCEEDED" ? `no answer within ${timeoutMs} ms` : `${thrown.code}: ${thrown.message}`;
  return new OtlpError(isRetryable ? "retryable" : "permanent", text, {
    cause: thrown,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

const RETRY_INFO_URL = "type.googleapis.com/google.rpc.RetryInfo";
const RETRY_INFO = message({ retryDelay: nested(1, message({ seconds: int64(1), nanos: uint32(2) })) });
const STATUS = message({ details: repeated(3, message({ typeUrl: string(1), value: bytes(2) })) });

function retryDelayMs(details: Buffer | undefined): number | undefined {
  if (details === undefined) return undefined;
  try {
    const found = STATUS.decode(details).details.find(({ typeUrl }) => typeUrl === RETRY_INFO_URL);
    if (found === undefined) return undefined;
    const { seconds = 0n, nanos = 0 } = RETRY_INFO.decode(Buffer.from(found.value ?? [])).retryDelay ?? {};
    return Number(seconds) * 1000 + nanos / 1e6;
  } catch {
    return undefined; // details are advice
  }
}
