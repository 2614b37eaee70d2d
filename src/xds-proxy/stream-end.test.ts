import { describe, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { GrpcError } from "../grpc/status.ts";
import { declareXdsProxyMetrics } from "./metrics.ts";
import { endOf, endOfSending, reportEnd, toStatus } from "./stream-end.ts";

const CANCELED = "terminated with status rpc error: code = Canceled desc = context canceled";

describe("both halves of a pair are told and counted, the one that ended first by its own class", () => {
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
