import { describe, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { GrpcError } from "../grpc/status.ts";
import type { GrpcStatusName } from "../protocol/grpc-status-names.ts";
import { declareXdsProxyMetrics } from "./metrics.ts";
import {
  classifyTermination,
  endOf,
  endOfSending,
  reportEnd,
  type Termination,
  terminationLabel,
  toStatus,
} from "./stream-end.ts";

const CANCELED = "terminated with status rpc error: code = Canceled desc = context canceled";

describe("both halves of a pair are notified and counted, the one that ended first by its own class", () => {
  test.each([
    ["upstream", undefined, "debug", "upstream terminated with status <nil>", "cancelled"],
    [
      "upstream",
      new GrpcError("UNAVAILABLE", "error reading from server: EOF"),
      "debug",
      "upstream terminated with status rpc error: code = Unavailable desc = error reading from server: EOF",
      "cancelled",
    ],
    [
      "upstream",
      new GrpcError("INTERNAL", "boom"),
      "warn",
      "upstream terminated with unexpected error rpc error: code = Internal desc = boom",
      "error",
    ],
    ["downstream", undefined, "debug", "downstream terminated with status <nil>", "cancelled"],
    [
      "downstream",
      new GrpcError("RESOURCE_EXHAUSTED", "grpc: received message larger than max (5 vs. 4)"),
      "warn",
      "downstream terminated with unexpected error rpc error: code = ResourceExhausted desc = grpc: received message larger than max (5 vs. 4)",
      "error",
    ],
  ] as const)("%s: %s", (side, failure, level, line, label) => {
    const registry = new MetricRegistry();
    const log = recordLog();
    reportEnd({ side, failure }, declareXdsProxyMetrics(registry), log);
    const other = side === "upstream" ? "downstream" : "upstream";
    const isTooLarge = line.includes("larger than max");
    expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
      [level, line],
      ...(isTooLarge ? [["warn", expect.stringContaining("ISTIO_GPRC_MAXRECVMSGSIZE")]] : []),
      ["debug", `${other} ${CANCELED}`],
    ]);
    const labels = { [side]: label, [other]: "cancelled" };
    const text = registry.render();
    expect(text).toContain(`istio_agent_istiod_connection_terminations{type="${labels.upstream}"} 1`);
    expect(text).toContain(`istio_agent_envoy_connection_terminations{type="${labels.downstream}"} 1`);
    expect(text.match(/_terminations\{/g)).toHaveLength(2);
  });
});

test("a failed write waits for the status that explains it", async () => {
  const status = new GrpcError("PERMISSION_DENIED", "not you");
  const reading = endOf("upstream", Promise.reject(status));
  const end = await endOfSending(Promise.reject(new Error("EPIPE")), reading);
  expect(end).toEqual({ side: "upstream", failure: status });
});

test("a write that fails without any status tells its own failure", async () => {
  const failure = new Error("EPIPE");
  const end = await endOfSending(Promise.reject(failure), new Promise(() => undefined));
  expect(end).toEqual({ side: "upstream", failure });
  expect(toStatus(failure)).toMatchObject({ code: "UNKNOWN", message: "EPIPE" });
});

const rows: readonly [GrpcStatusName, string, Termination][] = [
  ["CANCELLED", "the call was cancelled by the client", "expected"],
  ["DEADLINE_EXCEEDED", "context deadline exceeded", "expected"],
  ["UNAVAILABLE", "error reading from server: EOF", "expected"],
  ["UNAVAILABLE", "error reading from server: read ECONNRESET", "unexpected"],
  ["UNAVAILABLE", "client disconnected", "expected"],
  ["UNAVAILABLE", "transport is closing", "expected"],
  ["UNAVAILABLE", "Connection dropped", "expected"],
  ["UNAVAILABLE", "the connection closed before all messages were read", "expected"],
  ["UNAVAILABLE", "keepalive ping failed to receive ACK within timeout", "unexpected"],
  ["UNAVAILABLE", "no progress within 30 s: a response was begun", "unexpected"],
  ["UNAVAILABLE", "server is not ready to serve discovery information", "unexpected"],
  ["UNAVAILABLE", "closing transport due to: EOF, received prior goaway: code: NO_ERROR", "expected"],
  ["UNAVAILABLE", "received GOAWAY with code NO_ERROR: max_age", "expected"],
  ["UNAVAILABLE", "received GOAWAY with code ENHANCE_YOUR_CALM: too_many_pings", "unexpected"],
  ["INTERNAL", "stream terminated by RST_STREAM with error code: NO_ERROR", "expected"],
  ["INTERNAL", "Received RST_STREAM with code 0", "expected"],
  ["INTERNAL", "stream terminated by RST_STREAM with error code: INTERNAL_ERROR", "unexpected"],
  ["CANCELLED", "stream terminated by RST_STREAM with error code: CANCEL", "expected"],
  ["UNAUTHENTICATED", "authentication failure", "unexpected"],
  ["INTERNAL", "error reading from server: EOF", "unexpected"],
];

test.each(rows)("%s %s is an %s end", (code, message, termination) => {
  expect(classifyTermination(new GrpcError(code, message))).toBe(termination);
});

test("a clean end is graceful and counts like an expected one", () => {
  expect(classifyTermination(undefined)).toBe("graceful");
  expect(terminationLabel("graceful")).toBe("cancelled");
  expect(terminationLabel("expected")).toBe("cancelled");
  expect(terminationLabel("unexpected")).toBe("error");
});

test("what is not a status at all is trouble", () => {
  expect(classifyTermination(new TypeError("oops"))).toBe("unexpected");
});
