import { expect, test } from "vitest";
import { createEnvReader, type Environment } from "./env-reader.ts";
import { readOtlpSettings } from "./otlp.ts";

const read = (env: Environment) => readOtlpSettings(createEnvReader(env, "master", () => undefined));
const ENDPOINT = { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "https://collector:4318/v1/metrics" };

test("without an endpoint nothing is pushed, whatever else is said", () => {
  expect(read({ OTEL_METRIC_EXPORT_INTERVAL: "1000", OTEL_EXPORTER_OTLP_ENDPOINT: "http://x" })).toBeUndefined();
});

test("an endpoint alone is enough", () => {
  expect(read({ ...ENDPOINT, POD_NAME: "web-1", POD_NAMESPACE: "shop", ISTIO_META_WORKLOAD_NAME: "web" })).toEqual({
    protocol: "http/protobuf",
    endpoint: "https://collector:4318/v1/metrics",
    intervalMs: 60_000,
    timeoutMs: 10_000,
    headers: {},
    caFile: "",
    certFile: "",
    keyFile: "",
    resource: [
      ["service.name", "web"],
      ["service.namespace", "shop"],
      ["service.instance.id", "web-1"],
      ["k8s.pod.name", "web-1"],
      ["k8s.namespace.name", "shop"],
    ],
  });
});

test("lists are pairs with percent-encoded values, and a named service counts before its attribute", () => {
  const settings = read({
    ...ENDPOINT,
    OTEL_EXPORTER_OTLP_METRICS_HEADERS: "Authorization=Basic%20YQ==, x-tenant=a",
    OTEL_RESOURCE_ATTRIBUTES: "service.name=other,team=a%2Cb",
    OTEL_SERVICE_NAME: "mine",
    OTEL_METRIC_EXPORT_INTERVAL: "10",
  });
  expect(settings?.headers).toEqual({ authorization: "Basic YQ==", "x-tenant": "a" });
  expect(settings?.resource).toEqual([
    ["service.name", "mine"],
    ["team", "a,b"],
  ]);
  expect(settings?.intervalMs).toBe(1000);
});

test("what is said for all signals holds where nothing is said for metrics", () => {
  const general = {
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "https://collector:4317",
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=all",
    OTEL_EXPORTER_OTLP_TIMEOUT: "7",
    OTEL_EXPORTER_OTLP_CERTIFICATE: "/all/ca",
    OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: "/all/cert",
    OTEL_EXPORTER_OTLP_CLIENT_KEY: "/all/key",
  };
  expect(read(general)).toMatchObject({
    protocol: "grpc",
    headers: { "x-tenant": "all" },
    timeoutMs: 7,
    caFile: "/all/ca",
    certFile: "/all/cert",
    keyFile: "/all/key",
  });
  const own = {
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: "http/protobuf",
    OTEL_EXPORTER_OTLP_METRICS_HEADERS: "x-tenant=mine",
    OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: "8",
    OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE: "/mine/ca",
  };
  expect(read({ ...general, ...own })).toMatchObject({
    protocol: "http/protobuf",
    headers: { "x-tenant": "mine" },
    timeoutMs: 8,
    caFile: "/mine/ca",
    certFile: "/all/cert",
  });
});

const GENERAL = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/" };
test.each([
  { set: GENERAL, goesTo: undefined },
  { set: { ...GENERAL, OTEL_METRICS_EXPORTER: "prometheus" }, goesTo: undefined },
  { set: { ...GENERAL, OTEL_METRICS_EXPORTER: "otlp" }, goesTo: "http://collector:4318/v1/metrics" },
  { set: { ...GENERAL, OTEL_METRICS_EXPORTER: "console, otlp" }, goesTo: "http://collector:4318/v1/metrics" },
  {
    set: { ...GENERAL, OTEL_METRICS_EXPORTER: "otlp", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
    goesTo: "http://collector:4318/",
  },
  { set: { OTEL_METRICS_EXPORTER: "otlp" }, goesTo: "http://localhost:4318/v1/metrics" },
  {
    set: { OTEL_METRICS_EXPORTER: "otlp", OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: "grpc" },
    goesTo: "http://localhost:4317",
  },
  { set: { ...ENDPOINT, ...GENERAL }, goesTo: ENDPOINT.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT },
  { set: { ...ENDPOINT, OTEL_METRICS_EXPORTER: "none" }, goesTo: undefined },
])("$set pushes to $goesTo", ({ set, goesTo }) => {
  expect(read(set)?.endpoint).toBe(goesTo);
});

test.each([
  {
    set: { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "collector:4318" },
    says: /ENDPOINT: it is not a URL.*"collector:4318".*allowed: http:\/\//,
  },
  {
    set: { OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: "http/json" },
    says: /OTLP_METRICS_PROTOCOL: the agent does not speak it.*"http\/json".*allowed: grpc or http\/protobuf/,
  },
  {
    set: { OTEL_EXPORTER_OTLP_PROTOCOL: "gRPC" },
    says: /OTLP_PROTOCOL: the agent does not speak it.*"gRPC".*allowed: grpc or http\/protobuf/,
  },
  {
    set: { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
    says: /METRICS_ENDPOINT: gRPC has no path.*allowed: http:\/\/HOST:PORT or https:.*, or the protocol http\/protobuf/,
  },
  {
    set: { OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE: "/a" },
    says: /METRICS_CLIENT_KEY: a certificate and its key/,
  },
  { set: { OTEL_EXPORTER_OTLP_CLIENT_KEY: "/a" }, says: /OTLP_CLIENT_CERTIFICATE: a certificate and its key/ },
  { set: { OTEL_RESOURCE_ATTRIBUTES: "a" }, says: /OTEL_RESOURCE_ATTRIBUTES: an item is no pair.*allowed: name=value/ },
])("$set stops the start with the reason", ({ set, says }) => {
  expect(() => read({ ...ENDPOINT, ...set })).toThrow(says);
});

test("a wrong list of headers is not shown: it holds secrets", () => {
  const attempt = () => read({ ...ENDPOINT, OTEL_EXPORTER_OTLP_METRICS_HEADERS: "authorization:s3cret" });
  expect(attempt).toThrow(/HEADERS: an item is no pair/);
  expect(attempt).not.toThrow(/s3cret/);
});
