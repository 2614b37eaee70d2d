import { MessageBuffer } from "../../protobuf/wire/message-buffer.ts";
import { WIRE_BYTES, WIRE_FIXED64, WIRE_VARINT } from "../../protobuf/wire/wire-reader.ts";

export type Attributes = readonly (readonly [string, string])[];

/** What all points of one export have in common, in nanoseconds since 1970. */
export interface PointTimes {
  readonly startNanos: bigint;
  readonly nowNanos: bigint;
}

export type Point =
  | { readonly kind: "number"; readonly attributes: Attributes; readonly value: number }
  | {
      readonly kind: "histogram";
      readonly attributes: Attributes;
      readonly count: number;
      readonly sum: number;
      /** Upper bounds, and counts of each bucket alone: one more than there are bounds. */
      readonly bounds: readonly number[];
      readonly counts: readonly number[];
    }
  | {
      readonly kind: "summary";
      readonly attributes: Attributes;
      readonly count: number;
      readonly sum: number;
      readonly quantiles: readonly (readonly [number, number])[];
    };

export interface MetricHeader {
  readonly name: string;
  readonly type: string;
  readonly help: string | undefined;
}

const CUMULATIVE = 2;

/** Members of `opentelemetry.proto.metrics.v1`, by their numbers. Zero is written too: a point without a value is another thing. */
export function encodeMetric({ name, type, help }: MetricHeader, points: readonly Point[], times: PointTimes): Buffer {
  const out = new MessageBuffer(4096);
  text(out, 1, name);
  if (help !== undefined && help !== "") text(out, 2, help);
  const kind = points[0]?.kind ?? "number";
  const data = kind === "histogram" ? 9 : kind === "summary" ? 11 : type === "counter" ? 7 : 5;
  within(out, data, () => {
    for (const point of points) within(out, 1, () => writePoint(out, point, times));
    if (data === 9 || data === 7) number(out, 2, CUMULATIVE);
    if (data === 7) number(out, 3, 1);
  });
  return out.finish();
}

function writePoint(out: MessageBuffer, point: Point, { startNanos, nowNanos }: PointTimes): void {
  fixed(out, 2, startNanos);
  fixed(out, 3, nowNanos);
  if (point.kind === "number") {
    real(out, 4, point.value);
    writeAttributes(out, 7, point.attributes);
    return;
  }
  fixed(out, 4, toCount(point.count));
  real(out, 5, point.sum);
  if (point.kind === "summary") {
    for (const [quantile, value] of point.quantiles) {
      within(out, 6, () => {
        real(out, 1, quantile);
        real(out, 2, value);
      });
    }
    writeAttributes(out, 7, point.attributes);
    return;
  }
  within(out, 6, () => {
    for (const count of point.counts) out.fixed64(toCount(count));
  });
  within(out, 7, () => {
    for (const bound of point.bounds) out.double(bound);
  });
  writeAttributes(out, 9, point.attributes);
}

/** A whole `ExportMetricsServiceRequest` around encoded metrics. */
export function encodeExport(resource: Attributes, scope: string, metrics: readonly Buffer[]): Buffer {
  const out = new MessageBuffer(metrics.reduce((sum, { length }) => sum + length + 8, 1024));
  within(out, 1, () => {
    within(out, 1, () => writeAttributes(out, 1, resource));
    within(out, 2, () => {
      within(out, 1, () => text(out, 1, scope));
      for (const metric of metrics) {
        out.tag(2, WIRE_BYTES);
        out.bytes(metric);
      }
    });
  });
  return out.view();
}

function writeAttributes(out: MessageBuffer, field: number, attributes: Attributes): void {
  for (const [key, value] of attributes) {
    within(out, field, () => {
      text(out, 1, key);
      within(out, 2, () => text(out, 1, value));
    });
  }
}

function toCount(value: number): bigint {
  return Number.isFinite(value) && value > 0 ? BigInt(Math.round(value)) : 0n;
}

function within(out: MessageBuffer, field: number, write: () => void): void {
  out.tag(field, WIRE_BYTES);
  const start = out.open();
  write();
  out.close(start);
}

function text(out: MessageBuffer, field: number, value: string): void {
  out.tag(field, WIRE_BYTES);
  out.text(value);
}

function number(out: MessageBuffer, field: number, value: number): void {
  out.tag(field, WIRE_VARINT);
  out.varint(value);
}

function fixed(out: MessageBuffer, field: number, value: bigint): void {
  out.tag(field, WIRE_FIXED64);
  out.fixed64(value);
}

function real(out: MessageBuffer, field: number, value: number): void {
  out.tag(field, WIRE_FIXED64);
  out.double(value);
}
