import { expect, test } from "vitest";
import { policyOf } from "../../../test/support/discovery/policy.ts";
import { PROTOCOLS } from "../../istio-api/values/protocol.ts";
import { headerCase, PRESERVED_CASE } from "../shared/header-case.ts";
import { httpOptions, upstreamProtocol } from "./upstream-http.ts";

const pool = (http: string) => policyOf(`{connectionPool: {http: ${http}}}`).connectionPool;

test("each protocol has its own way to an endpoint", () => {
  const speaking = (wanted: string) => PROTOCOLS.filter((protocol) => upstreamProtocol(protocol) === wanted);
  expect(speaking("http2")).toEqual(["HTTP2", "GRPC", "GRPC-Web"]);
  expect(speaking("downstream")).toEqual(["Unsupported"]);
  expect(speaking("http1")).toHaveLength(PROTOCOLS.length - 4);
});

test.each([
  { protocol: "HTTP", http: "{h2UpgradePolicy: UPGRADE}", mesh: false, speaks: "http2" },
  { protocol: "TCP", http: "{h2UpgradePolicy: UPGRADE}", mesh: false, speaks: "http2" },
  { protocol: "Unsupported", http: "{h2UpgradePolicy: UPGRADE}", mesh: true, speaks: "downstream" },
  { protocol: "HTTP", http: "{h2UpgradePolicy: DO_NOT_UPGRADE}", mesh: true, speaks: "http1" },
  { protocol: "HTTP", http: "{maxRetries: 1}", mesh: true, speaks: "http2" },
  { protocol: "TCP", http: "{maxRetries: 1}", mesh: true, speaks: "http1" },
  { protocol: "HTTP", http: "{useClientProtocol: true}", mesh: true, speaks: "downstream" },
  { protocol: "HTTP2", http: "{useClientProtocol: true}", mesh: false, speaks: "downstream" },
  { protocol: "GRPC", http: "{h2UpgradePolicy: DO_NOT_UPGRADE}", mesh: false, speaks: "http2" },
] as const)("$protocol with $http, mesh upgrading $mesh, speaks $speaks", ({ protocol, http, mesh, speaks }) => {
  expect(upstreamProtocol(protocol, { pool: pool(http), upgradesToHttp2: mesh })).toBe(speaks);
});

test.each([
  { protocol: "Unsupported", speaks: "http1" },
  { protocol: "Unsupported", http: "{h2UpgradePolicy: UPGRADE}", speaks: "http2" },
  { protocol: "Unsupported", http: "{useClientProtocol: true}", speaks: "downstream" },
  { protocol: "GRPC", speaks: "http2" },
] as const)("behind a router, which offers HTTP/2 to all, $protocol with $http speaks $speaks", (row) => {
  const { protocol, speaks } = row;
  const given = "http" in row ? { pool: pool(row.http) } : {};
  expect(upstreamProtocol(protocol, { ...given, proxy: "router" })).toBe(speaks);
});

const TYPE = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
const packed = (options: object) => ({
  typedExtensionProtocolOptions: { [TYPE]: { "@type": `type.googleapis.com/${TYPE}`, ...options } },
});
const HTTP1 = { explicitHttpConfig: { httpProtocolOptions: {} } };
const HTTP2 = { explicitHttpConfig: { http2ProtocolOptions: {} } };

test.each([
  { upstream: "http1", http: "{maxRetries: 1}", gives: {} },
  { upstream: "http1", http: "{maxConcurrentStreams: 5}", gives: packed({ ...HTTP1, commonHttpProtocolOptions: {} }) },
  { upstream: "http2", http: "{maxRetries: 1}", gives: packed(HTTP2) },
  {
    upstream: "http2",
    http: "{maxConcurrentStreams: 5}",
    gives: packed({
      commonHttpProtocolOptions: {},
      explicitHttpConfig: { http2ProtocolOptions: { maxConcurrentStreams: 5 } },
    }),
  },
  {
    upstream: "http2",
    http: "{http2KeepAlive: {interval: 30s, timeout: 5s}}",
    gives: packed({
      commonHttpProtocolOptions: {},
      explicitHttpConfig: { http2ProtocolOptions: { connectionKeepalive: { interval: "30s", timeout: "5s" } } },
    }),
  },
  {
    upstream: "downstream",
    http: "{maxConcurrentStreams: 5, http2KeepAlive: {interval: 30s, timeout: 5s}}",
    gives: packed({
      commonHttpProtocolOptions: {},
      useDownstreamProtocolConfig: { httpProtocolOptions: {}, http2ProtocolOptions: {} },
    }),
  },
  {
    upstream: "downstream",
    http: "{maxRetries: 1}",
    gives: packed({ useDownstreamProtocolConfig: { httpProtocolOptions: {}, http2ProtocolOptions: {} } }),
  },
  {
    upstream: "http1",
    http: "{idleTimeout: 30s}",
    gives: packed({ ...HTTP1, commonHttpProtocolOptions: { idleTimeout: "30s" } }),
  },
  {
    upstream: "http1",
    http: "{maxRequestsPerConnection: 1}",
    gives: packed({ ...HTTP1, commonHttpProtocolOptions: { maxRequestsPerConnection: 1 } }),
  },
  { upstream: "http1", http: "{maxRequestsPerConnection: 0}", gives: {} },
] as const)("$upstream with $http becomes $gives", ({ upstream, http, gives }) => {
  expect(httpOptions(upstream, pool(http))).toEqual(gives);
});

test("settings of TCP count for HTTP, unless HTTP has its own", () => {
  const tcp = "tcp: {idleTimeout: 60s, maxConnectionDuration: 1h}";
  const both = policyOf(`{connectionPool: {${tcp}, http: {idleTimeout: 30s}}}`).connectionPool;
  const alone = policyOf(`{connectionPool: {${tcp}}}`).connectionPool;
  const common = { maxConnectionDuration: "3600s" };
  expect(httpOptions("http1", both)).toEqual(
    packed({ ...HTTP1, commonHttpProtocolOptions: { ...common, idleTimeout: "30s" } }),
  );
  expect(httpOptions("http1", alone)).toEqual(
    packed({ ...HTTP1, commonHttpProtocolOptions: { ...common, idleTimeout: "60s" } }),
  );
});

test("what TLS asks for needs the protocol to be said", () => {
  expect(httpOptions("http1", undefined, { upstreamHttpProtocolOptions: { autoSni: true } })).toEqual(
    packed({ ...HTTP1, upstreamHttpProtocolOptions: { autoSni: true } }),
  );
});

test("the case of header names is preserved where HTTP/1 may be spoken, which then is not upgraded", () => {
  const kept = PROTOCOLS.filter((protocol) => headerCase(protocol, true) !== undefined);
  expect(kept).toEqual(["HTTP", "HTTP_PROXY", "Unsupported"]);
  expect(headerCase("HTTP", false)).toBeUndefined();
  const options = { pool: pool("{h2UpgradePolicy: UPGRADE}"), upgradesToHttp2: true, preservesHeaderCase: true };
  expect(upstreamProtocol("HTTP", options)).toBe("http1");
  expect(upstreamProtocol("GRPC", options)).toBe("http2");
  expect(httpOptions("http1", undefined, { http1: PRESERVED_CASE })).toEqual(
    packed({ explicitHttpConfig: { httpProtocolOptions: PRESERVED_CASE } }),
  );
  expect(httpOptions("downstream", undefined, { http1: PRESERVED_CASE })).toEqual(
    packed({ useDownstreamProtocolConfig: { httpProtocolOptions: PRESERVED_CASE, http2ProtocolOptions: {} } }),
  );
});
