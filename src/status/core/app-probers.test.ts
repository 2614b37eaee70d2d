import { expect, test } from "vitest";
import { readAppProbers } from "./app-probers.ts";
import { STATUS_RULES } from "./generations.ts";

const LIVEZ = "/app-health/business/livez";
const read = (value: Record<string, unknown>, generation: keyof typeof STATUS_RULES = "master") =>
  Object.fromEntries(readAppProbers(value, STATUS_RULES[generation].probers));

test.each([
  { prober: { tcpSocket: { port: 8888 } }, want: { kind: "tcp", port: 8888, timeoutMs: 0 } },
  {
    prober: { httpGet: { port: 8080 }, initialDelaySeconds: 120, periodSeconds: 10, timeoutSeconds: 10 },
    want: { kind: "http", port: 8080, path: "", isTls: false, headers: [], timeoutMs: 10_000 },
  },
  {
    prober: {
      httpGet: { path: "hello", port: 1, scheme: "HTTPS", host: "x", httpHeaders: [{ name: "A", value: "b" }] },
    },
    want: { kind: "http", port: 1, path: "hello", isTls: true, headers: [{ name: "A", value: "b" }], timeoutMs: 0 },
  },
  {
    prober: { httpGet: { port: 1, scheme: "https" } },
    want: { kind: "http", port: 1, path: "", isTls: false, headers: [], timeoutMs: 0 },
  },
  { prober: { httpGet: {} }, want: { kind: "http", port: 0, path: "", isTls: false, headers: [], timeoutMs: 0 } },
  { prober: { gRPC: { port: 1234 } }, want: { kind: "grpc", port: 1234, service: "", timeoutMs: 0 } },
  {
    prober: { grpc: { port: 1234, service: null }, timeoutSeconds: 10 },
    want: { kind: "grpc", port: 1234, service: "", timeoutMs: 10_000 },
  },
  {
    prober: { grpc: { port: 1234, service: "foo" } },
    want: { kind: "grpc", port: 1234, service: "foo", timeoutMs: 0 },
  },
])("$prober", ({ prober, want }) => {
  expect(read({ [LIVEZ]: prober })).toEqual({ [LIVEZ]: want });
});

test("no probes, and probes of lifecycle handlers", () => {
  expect(read({})).toEqual({});
  expect(Object.keys(read({ "/app-lifecycle/foo/prestopz": { httpGet: { port: 1 } } }))).toEqual([
    "/app-lifecycle/foo/prestopz",
  ]);
});

test.each([
  {
    value: { abc: { path: "/app-foo/health" } },
    says: "invalid path, must be in form of regex pattern ^/(app-health|app-lifecycle)/[^/]+/(livez|readyz|startupz|prestopz|poststartz)$",
  },
  { value: { "/app-health/a/b/livez": { tcpSocket: { port: 1 } } }, says: "invalid path" },
  {
    value: { [LIVEZ]: { exec: { command: ["true"] } } },
    says: "invalid prober type, must be one of type httpGet, tcpSocket or gRPC",
  },
  {
    value: { [LIVEZ]: { tcpSocket: { port: 1 }, httpGet: { port: 1 } } },
    says: "must be one of type httpGet, tcpSocket or gRPC",
  },
  {
    value: { [LIVEZ]: { grpc: { port: 1 }, httpGet: { port: 1 } } },
    says: "must be one of type httpGet, tcpSocket or gRPC",
  },
  {
    value: { [LIVEZ]: { tcpSocket: { port: "tcp" } } },
    says: `invalid prober config for ${LIVEZ}, the port must be int type`,
  },
  { value: { [LIVEZ]: { httpGet: { port: "container-port-dontknow" } } }, says: "the port must be int type" },
  {
    value: { [LIVEZ]: { grpc: { port: "x" } } },
    says: `cannot unmarshal string into Go struct field ${LIVEZ}.grpc.port of type int32`,
  },
  { value: { [LIVEZ]: null }, says: `cannot unmarshal null into Go struct field ${LIVEZ} of type status.Prober` },
  { value: { [LIVEZ]: { httpGet: { port: 1, path: 7 } } }, says: `${LIVEZ}.httpGet.path of type string` },
  {
    value: { [LIVEZ]: { httpGet: { port: 1, httpHeaders: [{ name: 7 }] } } },
    says: `${LIVEZ}.httpGet.httpHeaders[0].name of type string`,
  },
  { value: { [LIVEZ]: { httpGet: { port: 1 }, timeoutSeconds: "1" } }, says: `${LIVEZ}.timeoutSeconds of type int32` },
])("$value is refused with the field", ({ value, says }) => {
  expect(() => read(value)).toThrow(says);
});

test.each<{ generation: keyof typeof STATUS_RULES; path: string; says: string | undefined }>([
  { generation: "1.20", path: "/app-lifecycle/a/prestopz", says: "invalid path" },
  { generation: "1.8", path: "/app-health/a/startupz", says: undefined },
  {
    generation: "1.7",
    path: "/app-health/a/startupz",
    says: "invalid key, must be in form of regex pattern ^/app-health/[^\\/]+/(livez|readyz)$",
  },
  { generation: "1.8", path: "/app-foo/a/livez", says: "invalid key" },
])("$generation and $path", ({ generation, path, says }) => {
  const attempt = () => read({ [path]: { httpGet: { port: 1 } } }, generation);
  if (says === undefined) expect(attempt).not.toThrow();
  else expect(attempt).toThrow(says);
});

test("the first generations know HTTP probes only", () => {
  expect(() => read({ "/app-health/a/livez": { tcpSocket: { port: 1 } } }, "1.8")).toThrow(
    "invalid prober type, must be of type httpGet",
  );
});
