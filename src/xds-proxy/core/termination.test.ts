import { expect, test } from "vitest";
import { GrpcError, type GrpcStatusName } from "../../grpc/status.ts";
import { classifyTermination, type Termination, terminationLabel } from "./termination.ts";

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

test("what is no status at all is trouble", () => {
  expect(classifyTermination(new TypeError("oops"))).toBe("unexpected");
});
