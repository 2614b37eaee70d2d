import { expect, test } from "vitest";
import { type Generation, generationRules } from "../../settings/generations.ts";
import { defaultProxyConfig } from "./default-proxy-config.ts";
import type { ProxyConfig } from "./proxy-config.ts";
import { proxyConfigProblems, proxyConfigWarnings } from "./validate-proxy-config.ts";

function problems(change: object, generation: Generation = "master"): readonly string[] {
  const rules = generationRules(generation);
  const config = { ...defaultProxyConfig(rules), ...change } as ProxyConfig;
  return proxyConfigProblems(config, rules).map((problem) => problem.message);
}

test.each(["master", "1.20", "1.8", "1.7"] as const)("the defaults of %s are valid", (generation) => {
  expect(problems({}, generation)).toEqual([]);
});

test("an empty ProxyConfig breaks every rule that asks for a value", () => {
  expect(proxyConfigProblems({}, generationRules("master")).map((problem) => problem.message)).toEqual([
    "config path must be set",
    "binary path must be set",
    "oneof service cluster or tracing service name must be specified",
    "invalid drain duration: duration must be greater than 1ms",
    "discovery address must be set to the proxy discovery service",
    "invalid proxy admin port: port number 0 must be in the range 1..65535",
    "invalid status port: port number 0 must be in the range 1..65535",
  ]);
});

test.each([
  { change: { serviceCluster: "" }, says: ["service cluster must be specified"] },
  { change: { serviceCluster: undefined, tracingServiceName: "CANONICAL_NAME_ONLY" }, says: [] },
  { change: { drainDuration: "0.000500s" }, says: ["invalid drain duration: duration must be greater than 1ms"] },
  { change: { drainDuration: "-1s" }, says: ["invalid drain duration: duration must be greater than 1ms"] },
  {
    change: { drainDuration: "1.000001s" },
    says: ["invalid drain duration: only durations to ms precision are supported"],
  },
  { change: { drainDuration: "1.001s" }, says: ["drain time only supports durations to seconds precision"] },
  {
    change: { discoveryAddress: "foo" },
    says: ['invalid discovery address: unable to split "foo": address foo: missing port in address'],
  },
  {
    change: { discoveryAddress: "fo_o:1" },
    says: ['invalid discovery address: "fo_o" is not a valid hostname or an IP address'],
  },
  {
    change: { tracing: { lightstep: {} } },
    says: [
      "invalid lightstep config: address is required",
      'invalid lightstep config: invalid lightstep address: unable to split "": missing port in address',
      "invalid lightstep config: access token is required",
    ],
  },
  { change: { tracing: { lightstep: { address: "a:1", accessToken: "t" } } }, says: [] },
  { change: { tracing: { zipkin: {} } }, says: ['invalid zipkin config: unable to split "": missing port in address'] },
  { change: { tracing: { zipkin: { address: "$(HOST_IP):9411" } } }, says: [] },
  { change: { tracing: { datadog: { address: "$(HOST_IP):8126" } } }, says: [] },
  {
    change: { tracing: { datadog: { address: "x:y" } } },
    says: ['invalid datadog config: port (y) is not a number: strconv.Atoi: parsing "y": invalid syntax'],
  },
  {
    change: { tracing: { tlsSettings: { mode: "MUTUAL" } } },
    says: [
      "invalid tracing TLS config: client certificate required for mutual tls",
      "invalid tracing TLS config: private key required for mutual tls",
    ],
  },
  { change: { tracing: { customTags: { a: {} } } }, says: [] },
  {
    change: { statsdUdpAddress: "10.0.0.100" },
    says: [
      'invalid statsd udp address "10.0.0.100": unable to split "10.0.0.100": address 10.0.0.100: missing port in address',
    ],
  },
  {
    change: { envoyMetricsServiceAddress: "m" },
    says: ['invalid envoy metrics service address "m": unable to split "m": address m: missing port in address'],
  },
  {
    change: { envoyMetricsService: { address: "m" } },
    says: ['invalid envoy metrics service address "m": unable to split "m": address m: missing port in address'],
  },
  {
    change: { envoyAccessLogService: { address: "m" } },
    says: ['invalid envoy access log service address "m": unable to split "m": address m: missing port in address'],
  },
  {
    change: { proxyAdminPort: 65536 },
    says: ["invalid proxy admin port: port number 65536 must be in the range 1..65535"],
  },
  { change: { statusPort: -1 }, says: ["invalid status port: port number -1 must be in the range 1..65535"] },
  {
    change: { controlPlaneAuthPolicy: "INHERIT" },
    says: ['invalid authentication policy: unrecognized control plane auth policy "INHERIT"'],
  },
  {
    change: { controlPlaneAuthPolicy: 77 },
    says: ['invalid authentication policy: unrecognized control plane auth policy "77"'],
  },
  {
    change: { privateKeyProvider: {} },
    says: [
      "invalid private key provider configuration: private key provider configuration is required",
      "invalid private key provider configuration: unknown private key provider",
    ],
  },
  {
    change: { privateKeyProvider: { cryptomb: {} } },
    says: ["invalid private key provider configuration: pollDelay is required"],
  },
  {
    change: { privateKeyProvider: { qat: { pollDelay: "0s" } } },
    says: ["invalid private key provider configuration: pollDelay must be non zero"],
  },
  { change: { privateKeyProvider: { cryptomb: { pollDelay: "0.000010s" } } }, says: [] },
  {
    change: { connectionSettings: { listenerPerConnectionBufferLimitBytes: -1 } },
    says: ["invalid connection settings: listener_per_connection_buffer_limit_bytes must be non-negative"],
  },
  {
    change: { connectionSettings: { httpIdleTimeout: "-1s", httpMaxConcurrentStreams: 0 } },
    says: [
      "invalid connection settings: http_idle_timeout must be non-negative",
      "invalid connection settings: http_max_concurrent_streams must be positive",
    ],
  },
  {
    change: { connectionSettings: { http2InitialStreamWindowSize: 65534 } },
    says: ["invalid connection settings: http2_initial_stream_window_size must be at least 65535"],
  },
  {
    change: { connectionSettings: { globalDownstreamConnectionLimit: 0, listenerConnectionLimit: 5 } },
    says: ["invalid connection settings: global_downstream_connection_limit must be positive"],
  },
  { change: { proxyMetadata: { ISTIO_META_DNS_AUTO_ALLOCATE: "true" } }, says: [] },
])("$change", ({ change, says }) => {
  expect(problems(change)).toEqual(says);
});

test("everything wrong at once gives twelve errors", () => {
  expect(
    problems({
      configPath: "",
      binaryPath: "",
      serviceCluster: "",
      drainDuration: "-1s",
      discoveryAddress: "10.0.0.100",
      tracing: { zipkin: { address: "10.0.0.100" } },
      statsdUdpAddress: "10.0.0.100",
      envoyMetricsService: { address: "metrics-service" },
      envoyAccessLogService: { address: "accesslog-service" },
      proxyAdminPort: 0,
      controlPlaneAuthPolicy: -1,
      statusPort: 0,
    }),
  ).toHaveLength(12);
});

test("deprecated metadata only warns", () => {
  expect(proxyConfigWarnings({ proxyMetadata: { ISTIO_META_DNS_AUTO_ALLOCATE: "x" } })).toHaveLength(1);
  expect(proxyConfigWarnings({})).toEqual([]);
});

test("1.20 misspells one prefix and knows no connection settings", () => {
  expect(problems({ privateKeyProvider: { cryptomb: {} } }, "1.20")).toEqual([
    "invalid private key provider confguration: pollDelay is required",
  ]);
  expect(problems({ connectionSettings: { httpMaxConcurrentStreams: 0 } }, "1.20")).toEqual([]);
});

test.each([
  { change: { statusPort: 0 }, says: [] },
  {
    change: { drainDuration: "60s" },
    says: ["invalid parent and drain time combination: parent shutdown time 60s must be greater than drain time 60s"],
  },
  {
    change: { drainDuration: "1.500s" },
    says: ["invalid drain duration: drain time only supports durations to seconds precision"],
  },
  {
    change: { parentShutdownDuration: "0s" },
    says: ["invalid parent shutdown duration: duration must be greater than 1ms"],
  },
  {
    change: { parentShutdownDuration: "7200s" },
    says: ["invalid parent shutdown duration: parent shutdown time must be <= 1h0m0s"],
  },
])("1.7: $change", ({ change, says }) => {
  expect(problems(change, "1.7")).toEqual(says);
});
