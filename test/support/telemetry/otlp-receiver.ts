import type { IncomingHttpHeaders } from "node:http";
import * as grpc from "@grpc/grpc-js";
import protobuf from "protobufjs";
import { startHttpServer, type TestHttpServer, type TlsServerOptions } from "../net/http-server.ts";

/** The part of OpenTelemetry's metrics protocol that an exporter uses, for another implementation of protobuf. */
const PROTOCOL = `syntax = "proto3";
message Any { oneof value { string string_value = 1; } }
message KeyValue { string key = 1; Any value = 2; }
message Number {
  repeated KeyValue attributes = 7; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3;
  oneof value { double as_double = 4; sfixed64 as_int = 6; }
}
message HistogramPoint {
  repeated KeyValue attributes = 9; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3;
  fixed64 count = 4; double sum = 5; repeated fixed64 bucket_counts = 6; repeated double explicit_bounds = 7;
}
message Quantile { double quantile = 1; double value = 2; }
message SummaryPoint {
  repeated KeyValue attributes = 7; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3;
  fixed64 count = 4; double sum = 5; repeated Quantile quantile_values = 6;
}
message Gauge { repeated Number data_points = 1; }
message Sum { repeated Number data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
message Histogram { repeated HistogramPoint data_points = 1; int32 aggregation_temporality = 2; }
message Summary { repeated SummaryPoint data_points = 1; }
message Metric {
  string name = 1; string description = 2; string unit = 3;
  oneof data { Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; Summary summary = 11; }
}
message Scope { string name = 1; }
message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message Request { repeated ResourceMetrics resource_metrics = 1; }
message Partial { int64 rejected_data_points = 1; string error_message = 2; }
message Response { Partial partial_success = 1; }
message AnyMessage { string type_url = 1; bytes value = 2; }
message Status { int32 code = 1; string message = 2; repeated AnyMessage details = 3; }
message Duration { int64 seconds = 1; int32 nanos = 2; }
message RetryInfo { Duration retry_delay = 1; }`;
const { root } = protobuf.parse(PROTOCOL);
const typed = (name: string) => root.lookupType(name);
const encode = (name: string, value: object) => Buffer.from(typed(name).encode(typed(name).fromObject(value)).finish());

export interface ReceivedPoint {
  readonly attributes: Readonly<Record<string, string>>;
  readonly startTime: number;
  readonly time: number;
  readonly value?: number;
  readonly count?: number;
  readonly sum?: number;
  readonly counts?: readonly number[];
  readonly bounds?: readonly number[];
  readonly quantiles?: readonly (readonly [number, number])[];
}

export interface ReceivedMetric {
  readonly name: string;
  readonly description: string;
  readonly kind: "gauge" | "sum" | "histogram" | "summary";
  readonly isMonotonic: boolean;
  readonly isCumulative: boolean;
  readonly points: readonly ReceivedPoint[];
}

export interface ReceivedExport {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: number;
  readonly resource: Readonly<Record<string, string>>;
  readonly metrics: readonly ReceivedMetric[];
}

export interface OtlpReceiver extends TestHttpServer {
  readonly exports: readonly ReceivedExport[];
  /** How requests are answered from now on, by a status of the protocol; `never`: not at all. */
  answer(how: Answer): void;
}

type Answer =
  | number
  | "never"
  | { readonly rejected: number; readonly why: string }
  | { readonly status: number; readonly retryAfterSeconds: number };

/** A collector that takes metrics over HTTP, decoded by protobufjs. */
export async function startOtlpReceiver(tls?: TlsServerOptions): Promise<OtlpReceiver> {
  const exports: ReceivedExport[] = [];
  let how: Answer = 200;
  const server = await startHttpServer(
    (incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => {
        const body = Buffer.concat(chunks);
        exports.push({ path: incoming.url ?? "", headers: incoming.headers, ...readExport(body) });
        if (how === "never") return;
        if (typeof how === "number") return void outgoing.writeHead(how).end();
        if ("rejected" in how) return void outgoing.end(partialSuccess(how));
        outgoing.writeHead(how.status, { "retry-after": String(how.retryAfterSeconds) }).end();
      });
    },
    undefined,
    tls,
  );
  return {
    ...server,
    exports,
    answer: (next) => {
      how = next;
    },
  };
}

/** A collector that takes metrics over gRPC, served by the library of gRPC's own project. */
export async function startOtlpGrpcReceiver(tls?: TlsServerOptions): Promise<OtlpReceiver> {
  const path = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";
  const exports: ReceivedExport[] = [];
  let how: Answer = grpc.status.OK;
  const answerCall: grpc.handleUnaryCall<Buffer, Buffer> = ({ request, metadata }, callback) => {
    exports.push({ path, headers: metadata.getMap() as Record<string, string>, ...readExport(request) });
    if (how === "never") return;
    if (how === grpc.status.OK) return callback(null, Buffer.alloc(0));
    if (typeof how === "number") return callback({ code: how, details: "as the test says" });
    if ("rejected" in how) return callback(null, partialSuccess(how));
    const value = encode("RetryInfo", { retryDelay: { seconds: how.retryAfterSeconds } });
    const details = [{ typeUrl: "type.googleapis.com/google.rpc.RetryInfo", value }];
    const trailers = new grpc.Metadata();
    trailers.set("grpc-status-details-bin", encode("Status", { code: how.status, details }));
    callback({ code: how.status, details: "as the test says", metadata: trailers });
  };
  const same = (bytes: Buffer) => bytes;
  const codecs = {
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
  const server = new grpc.Server();
  server.addService(
    { export: { path, requestStream: false, responseStream: false, ...codecs } },
    { export: answerCall },
  );
  const credentials =
    tls === undefined
      ? grpc.ServerCredentials.createInsecure()
      : grpc.ServerCredentials.createSsl(null, [
          { cert_chain: Buffer.from(tls.cert), private_key: Buffer.from(tls.key) },
        ]);
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", credentials, (failure, bound) =>
      failure === null ? resolve(bound) : reject(failure),
    ),
  );
  return {
    port,
    url: `${tls === undefined ? "http" : "https"}://localhost:${port}`,
    exports,
    answer: (next) => {
      how = next;
    },
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  };
}

const partialSuccess = ({ rejected, why }: { readonly rejected: number; readonly why: string }) =>
  encode("Response", { partialSuccess: { rejectedDataPoints: rejected, errorMessage: why } });

interface Exported {
  readonly resourceMetrics: readonly {
    readonly resource: { readonly attributes: Pairs };
    readonly scopeMetrics: readonly { readonly metrics: readonly Metric[] }[];
  }[];
}
type Pairs = readonly { readonly key: string; readonly value: { readonly stringValue: string } }[];
interface Metric {
  readonly name: string;
  readonly description?: string;
  readonly gauge?: Data;
  readonly sum?: Data;
  readonly histogram?: Data;
  readonly summary?: Data;
}
interface Data {
  readonly dataPoints: readonly Record<string, unknown>[];
  readonly isMonotonic?: boolean;
  readonly aggregationTemporality?: number;
}

const KINDS = ["gauge", "sum", "histogram", "summary"] as const;
const textsOf = (pairs: Pairs = []) => Object.fromEntries(pairs.map(({ key, value }) => [key, value.stringValue]));

function readExport(body: Buffer): Pick<ReceivedExport, "bytes" | "resource" | "metrics"> {
  const request = typed("Request");
  const { resourceMetrics } = request.toObject(request.decode(body), { longs: Number, arrays: true }) as Exported;
  const [only] = resourceMetrics;
  return {
    bytes: body.length,
    resource: textsOf(only?.resource.attributes),
    metrics: (only?.scopeMetrics ?? []).flatMap(({ metrics }) => metrics.map(readMetric)),
  };
}

function readMetric(metric: Metric): ReceivedMetric {
  const kind = KINDS.find((each) => metric[each] !== undefined) ?? "gauge";
  const { dataPoints = [], isMonotonic = false, aggregationTemporality } = metric[kind] ?? {};
  return {
    name: metric.name,
    description: metric.description ?? "",
    kind,
    isMonotonic,
    isCumulative: aggregationTemporality === 2,
    points: dataPoints.map(readPoint),
  };
}

/** Whole ones: a double holds nanoseconds since 1970 only to within 256. */
function milliseconds(nanos: unknown): number {
  return Math.round(Number(nanos) / 1e6);
}

function readPoint(point: Record<string, unknown>): ReceivedPoint {
  const { attributes, startTimeUnixNano, timeUnixNano, asDouble, count, sum, bucketCounts, explicitBounds } = point;
  const quantiles = point.quantileValues as readonly { quantile?: number; value?: number }[] | undefined;
  return {
    attributes: textsOf(attributes as Pairs),
    startTime: milliseconds(startTimeUnixNano),
    time: milliseconds(timeUnixNano),
    ...(asDouble !== undefined && { value: asDouble as number }),
    ...(count !== undefined && { count: count as number, sum: sum as number }),
    ...(bucketCounts !== undefined && { counts: bucketCounts as number[], bounds: explicitBounds as number[] }),
    ...(quantiles !== undefined && { quantiles: quantiles.map(({ quantile = 0, value = 0 }) => [quantile, value]) }),
  };
}
