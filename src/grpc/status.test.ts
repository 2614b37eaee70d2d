import { expect, test } from "vitest";
import { GRPC_STATUS_NAMES } from "../protocol/grpc-status-names.ts";
import { http2ErrorName, statusOfHttp, statusOfReset } from "./client/status-mapping.ts";
import { Metadata } from "./metadata.ts";
import { GrpcError, goStatusName, rpcErrorText, statusName, statusNumber } from "./status.ts";

test("names and numbers invert each other for all seventeen codes", () => {
  expect(GRPC_STATUS_NAMES).toHaveLength(17);
  for (const name of GRPC_STATUS_NAMES) expect(statusName(String(statusNumber(name)))).toBe(name);
});

test.each(["17", "-1", "", "abc", "1.5", "0x1", "999999999999"])("a status header of %j means UNKNOWN", (header) => {
  expect(statusName(header)).toBe("UNKNOWN");
});

test.each([
  { code: "CANCELLED", text: "rpc error: code = Canceled desc = why" },
  { code: "UNAVAILABLE", text: "rpc error: code = Unavailable desc = why" },
  { code: "DEADLINE_EXCEEDED", text: "rpc error: code = DeadlineExceeded desc = why" },
  { code: "RESOURCE_EXHAUSTED", text: "rpc error: code = ResourceExhausted desc = why" },
  { code: "OK", text: "rpc error: code = OK desc = why" },
] as const)("$code prints as operators know it", ({ code, text }) => {
  expect(rpcErrorText(new GrpcError(code, "why"))).toBe(text);
});

test("other errors print their message", () => {
  expect(rpcErrorText(new Error("plain"))).toBe("plain");
});

test("an error keeps cause, metadata and rich details", () => {
  const cause = new Error("inner");
  const metadata = new Metadata().append("grpc-status-details-bin", Buffer.from("rich"));
  const error = new GrpcError("ABORTED", "outer", { cause, metadata });
  expect(error).toMatchObject({ name: "GrpcError", code: "ABORTED", status: 10, message: "outer", cause });
  expect(error.statusDetails?.toString()).toBe("rich");
  expect(new GrpcError("ABORTED", "").statusDetails).toBeUndefined();
});

test.each([
  { http: 400, name: "INTERNAL" },
  { http: 401, name: "UNAUTHENTICATED" },
  { http: 403, name: "PERMISSION_DENIED" },
  { http: 404, name: "UNIMPLEMENTED" },
  { http: 429, name: "UNAVAILABLE" },
  { http: 502, name: "UNAVAILABLE" },
  { http: 503, name: "UNAVAILABLE" },
  { http: 504, name: "UNAVAILABLE" },
  { http: 500, name: "UNKNOWN" },
  { http: 302, name: "UNKNOWN" },
])("HTTP status $http without a gRPC status means $name", ({ http, name }) => {
  expect(statusOfHttp(http)).toBe(name);
});

test.each([
  { reset: 0, http2: "NO_ERROR", name: "INTERNAL" },
  { reset: 1, http2: "PROTOCOL_ERROR", name: "INTERNAL" },
  { reset: 7, http2: "REFUSED_STREAM", name: "UNAVAILABLE" },
  { reset: 8, http2: "CANCEL", name: "CANCELLED" },
  { reset: 11, http2: "ENHANCE_YOUR_CALM", name: "RESOURCE_EXHAUSTED" },
  { reset: 12, http2: "INADEQUATE_SECURITY", name: "PERMISSION_DENIED" },
  { reset: 99, http2: "unknown code 99", name: "INTERNAL" },
])("a reset with $http2 means $name", ({ reset, http2, name }) => {
  expect(http2ErrorName(reset)).toBe(http2);
  expect(statusOfReset(reset)).toBe(name);
});

test.each([
  [13, "Internal"],
  [3, "InvalidArgument"],
  [1, "Canceled"],
  [0, "OK"],
  [99, "Code(99)"],
])("operators know the number %i as %s", (code, name) => {
  expect(goStatusName(code)).toBe(name);
});
