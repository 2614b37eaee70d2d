import { expect, test } from "vitest";
import { HEALTH_RULES } from "./generations.ts";
import { readHealthConfig } from "./health-config.ts";

test("defaults of a bare HTTP probe", () => {
  expect(readHealthConfig({ httpGet: { port: 5 } }, "10.0.0.1")).toEqual({
    initialDelayMs: 0,
    timeoutMs: 1000,
    periodMs: 10_000,
    thresholds: { success: 1, failure: 1 },
    method: { kind: "http", isTls: false, host: "10.0.0.1", port: 5, path: "/", headers: [] },
  });
});

test("everything given is preserved", () => {
  const probe = {
    initialDelaySeconds: 1,
    timeoutSeconds: 2,
    periodSeconds: 3,
    successThreshold: 4,
    failureThreshold: 5,
    httpGet: { port: 1, host: "h", path: "x?q", scheme: "https", httpHeaders: [{ name: "A", value: "b" }] },
  };
  expect(readHealthConfig(probe, "d")).toEqual({
    initialDelayMs: 1000,
    timeoutMs: 2000,
    periodMs: 3000,
    thresholds: { success: 4, failure: 5 },
    method: { kind: "http", isTls: true, host: "h", port: 1, path: "/x?q", headers: [{ name: "A", value: "b" }] },
  });
});

test.each([
  { probe: { tcpSocket: { port: 7 } }, method: { kind: "tcp", host: "d", port: 7 } },
  { probe: { grpc: { port: 7, service: "s" } }, method: { kind: "grpc", host: "d", port: 7, service: "s" } },
  { probe: { exec: { command: ["true"] } }, method: { kind: "exec", command: ["true"] } },
])("$probe", ({ probe, method }) => {
  expect(readHealthConfig(probe, "d").method).toEqual(method);
});

test.each([
  { probe: {}, says: "one of httpGet, tcpSocket, exec and grpc is needed" },
  { probe: { httpGet: {} }, says: "httpGet.port is missing" },
  { probe: { tcpSocket: { port: 70_000 } }, says: "tcpSocket.port is 70000, allowed are 1 to 65535" },
  { probe: { exec: { command: [] } }, says: "exec.command is empty" },
  { probe: { exec: {} }, says: "exec.command is empty" },
  { probe: { httpGet: { port: 1, scheme: "ftp" } }, says: 'httpGet.scheme is "ftp", allowed are HTTP and HTTPS' },
  { probe: { periodSeconds: -1, tcpSocket: { port: 1 } }, says: "periodSeconds is -1, it must be non-negative" },
  { probe: { httpGet: { port: 1, httpHeaders: [{ name: "a b", value: "" }] } }, says: "not a header name" },
  {
    probe: { httpGet: { port: 1, httpHeaders: [{ name: "a", value: "x\r\nEvil: 1" }] } },
    says: "the value of a has characters",
  },
])("$probe is refused with its reason", ({ probe, says }) => {
  expect(() => readHealthConfig(probe, "d")).toThrow(says);
});

test("up to 1.20 only HTTP has the workload's address as its default, and gRPC is unknown", () => {
  const rules = HEALTH_RULES["1.20"];
  expect(readHealthConfig({ httpGet: { port: 7 } }, "d", rules).method).toMatchObject({ host: "d" });
  expect(readHealthConfig({ tcpSocket: { port: 7 } }, "d", rules).method).toMatchObject({ host: "localhost" });
  expect(readHealthConfig({ tcpSocket: { port: 7, host: "h" } }, "d", rules).method).toMatchObject({ host: "h" });
  expect(() => readHealthConfig({ grpc: { port: 7 } }, "d", rules)).toThrow(
    "one of httpGet, tcpSocket and exec is needed",
  );
});
