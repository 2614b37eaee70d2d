import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseYaml } from "../../files/yaml/parse-yaml.ts";
import { generationRules } from "../../settings/generations.ts";
import { extensionProviderProblems } from "./extension-provider-problems.ts";
import { localityLbProblems } from "./locality-lb.ts";
import { defaultMeshConfig } from "./mesh-config.ts";
import { applyMeshConfig } from "./parse-mesh-config.ts";
import { formatMeshProblems, meshConfigProblems, meshConfigWarnings } from "./validate-mesh-config.ts";

const rules = generationRules("master");
const defaults = defaultMeshConfig(rules);
const apply = async (text: string, base = defaults) => applyMeshConfig(base, await parseYaml(text), rules);

describe("merging", () => {
  test("fields replace the defaults and defaultConfig merges as a ProxyConfig", async () => {
    const { config } = await apply(`
defaultConfig: {discoveryAddress: a:1, proxyMetadata: {K: "v"}, tracing: {zipkin: {address: z:9411}}}
enablePrometheusMerge: false
root_namespace: other
trustDomain: td`);
    expect(config).toMatchObject({
      enablePrometheusMerge: false,
      rootNamespace: "other",
      trustDomain: "td",
      defaultConfig: { discoveryAddress: "a:1", statusPort: 15020, tracing: { zipkin: { address: "z:9411" } } },
    });
  });

  test("the snake case spelling of defaultConfig is checked and then ignored", async () => {
    expect((await apply("default_config: {discovery_address: a:1}")).config.defaultConfig).toEqual(
      defaults.defaultConfig,
    );
    expect((await apply("default_config: {discovery_address: 1}")).problems).toMatchObject([
      { path: "default_config.discovery_address" },
    ]);
    expect((await apply("defaultConfig: {discovery_address: a:1}")).config.defaultConfig?.discoveryAddress).toBe("a:1");
  });

  test("default providers replace list by list", async () => {
    const base = (await apply("defaultProviders: {metrics: [prometheus], tracing: [x]}")).config;
    expect((await apply("defaultProviders: {tracing: [foo]}", base)).config.defaultProviders).toEqual({
      metrics: ["prometheus"],
      tracing: ["foo"],
    });
  });

  test("extension providers merge by name, in place", async () => {
    const { config } = await apply(
      "extensionProviders: [{name: stackdriver, stackdriver: {debug: true}}, {name: otel, opentelemetry: {service: o.ns.svc, port: 4317}}]",
    );
    expect(config.extensionProviders).toEqual([
      { name: "prometheus", prometheus: {} },
      { name: "stackdriver", stackdriver: { debug: true } },
      { name: "envoy", envoyFileAccessLog: { path: "/dev/stdout" } },
      { name: "otel", opentelemetry: { service: "o.ns.svc", port: 4317 } },
    ]);
  });

  test("trust domain aliases are a sorted union", async () => {
    const base = (await apply("trustDomainAliases: [b, c]")).config;
    expect((await apply("trustDomainAliases: [a, c]", base)).config.trustDomainAliases).toEqual(["a", "b", "c"]);
  });

  test("an empty document changes nothing", async () => {
    for (const text of ["", "null", "{}"]) expect((await apply(text)).config).toEqual(defaults);
  });

  test("random JSON gives a config or problems, and the base stays as it was", () => {
    const before = structuredClone(defaults);
    const key = fc.constantFrom(
      "defaultConfig",
      "extensionProviders",
      "trustDomainAliases",
      "localityLbSetting",
      "connectTimeout",
      "default_config",
      "meshMTLS",
    );
    fc.assert(
      fc.property(fc.oneof(fc.dictionary(key, fc.jsonValue()), fc.jsonValue()), (document) => {
        const { config, problems } = applyMeshConfig(defaults, document, rules);
        expect(Array.isArray(meshConfigProblems(config, rules))).toBe(true);
        expect(problems.every((problem) => problem.message !== "")).toBe(true);
        expect(defaults).toEqual(before);
      }),
    );
  });
});

describe("validation", () => {
  test("the defaults are valid without a warning", () => {
    expect(meshConfigProblems(defaults, rules)).toEqual([]);
    expect([...meshConfigWarnings(defaults), ...extensionProviderProblems(defaults)]).toEqual([]);
  });

  test.each([
    { text: "proxyListenPort: 0", says: ["invalid proxy listen port: port number 0 must be in the range 1..65535"] },
    { text: "connectTimeout: 2h", says: ["invalid connect timeout: time 2h0m0s must be >1ms and <1h0m0s"] },
    { text: "connectTimeout: 1us", says: ["invalid connect timeout: duration must be greater than 1ms"] },
    { text: "connectTimeout: 1500us", says: ["invalid connect timeout: only durations to ms precision are supported"] },
    {
      text: "protocolDetectionTimeout: 1us",
      says: ["invalid protocol detection timeout: only durations to ms precision are supported"],
    },
    { text: "protocolDetectionTimeout: 0s", says: [] },
    {
      text: "defaultConfig: {statusPort: 0}",
      says: ["invalid status port: port number 0 must be in the range 1..65535"],
    },
    { text: "trustDomain: -foo", says: ['trustDomain: trust domain name "-foo" invalid'] },
    { text: "trustDomain: ''", says: ["trustDomain: empty domain name not allowed"] },
    {
      text: "trustDomainAliases: [a/b]",
      says: ['trustDomainAliases[0], domain `a/b` : trust domain name "a/b" invalid'],
    },
    {
      text: "serviceSettings: [{hosts: ['*.foo.svc', 'a.*']}]",
      says: ['serviceSettings[0], host `a.*`: domain name "*" invalid (label "*" invalid)'],
    },
    { text: "meshMTLS: {ecdhCurves: [P-256]}", says: ["mesh TLS does not support ECDH curves configuration"] },
    { text: "mesh_mTLS: {ecdh_curves: [P-256]}", says: ["mesh TLS does not support ECDH curves configuration"] },
    { text: "defaultInboundHttpRetryPolicy: {attempts: -1}", says: ["attempts cannot be negative"] },
    { text: "localityLbSetting: {distribute: [{from: a, to: {a: 50}}]}", says: ["total locality weight 50 != 100"] },
    {
      text: "localityLbSetting: {distribute: [{from: a, to: {a: 0}}]}",
      says: ["locality weight must be in range [1, 100]"],
    },
    {
      text: "localityLbSetting: {distribute: [{from: a, to: {a: 100}}], failover: [{from: a, to: b}]}",
      says: ["can not simultaneously specify 'distribute' and 'failover'"],
    },
    {
      text: "localityLbSetting: {distribute: [{from: a/*, to: {a: 100}}, {from: a/b, to: {c: 100}}]}",
      says: ["locality a/b overlap with previous specified ones"],
    },
    {
      text: "localityLbSetting: {distribute: [{from: a//b, to: {a: 100}}]}",
      says: ["locality a//b must not contain empty region/zone/subzone info"],
    },
    {
      text: "localityLbSetting: {distribute: [{from: 'a/*/b', to: {a: 100}}]}",
      says: ["locality a/*/b wildcard '*' number can not exceed 1 and must be in the end"],
    },
    { text: "localityLbSetting: {distribute: [{from: a/b/c, to: {a/b/*: 50, a/c/*: 50}}]}", says: [] },
    {
      text: "localityLbSetting: {failover: [{from: a, to: a}]}",
      says: ["locality lb failover settings must specify different regions"],
    },
    {
      text: "localityLbSetting: {failover: [{from: a/b, to: '*'}]}",
      says: ["locality lb failover only specify region", "locality lb failover region should not contain '*' wildcard"],
    },
    {
      text: "localityLbSetting: {failover: [{from: a, to: b}], failoverPriority: [topology.kubernetes.io/zone]}",
      says: [
        "can not simultaneously set 'failover' and topology label 'topology.kubernetes.io/zone' in 'failover_priority'",
      ],
    },
    { text: "zoneAwareLbSetting: {failover: [{from: a, to: b}], failoverPriority: [app]}", says: [] },
    {
      text: "zoneAwareLbSetting: {failover: [{from: a, to: a}], failoverPriority: [topology.istio.io/subzone]}",
      says: [
        "'failover_priority' for zone aware lb must not use topology label 'topology.istio.io/subzone'; region- and zone-level routing are handled automatically",
        "zone aware lb failover settings must specify different regions",
      ],
    },
    {
      text: "zoneAwareLbSetting: {failover: [{from: a/b, to: 'c*'}]}",
      says: [
        "zone aware lb failover only specifies region; zone and subzone failover are handled automatically",
        "zone aware lb failover region should not contain '*' wildcard",
      ],
    },
    { text: "defaultTrafficPolicy: {}", says: [] },
    {
      text: "defaultTrafficPolicy: {connectionPool: {}}",
      says: ["connection pool must have at least one field"],
    },
    {
      text: "defaultTrafficPolicy: {connectionPool: {http: {http1MaxPendingRequests: -1, http2MaxRequests: -1, maxRequestsPerConnection: -1, maxRetries: -1, maxConcurrentStreams: -1, idleTimeout: 10us, h2UpgradePolicy: UPGRADE, useClientProtocol: true}}}",
      says: [
        "http1 max pending requests must be non-negative",
        "http2 max requests must be non-negative",
        "max requests per connection must be non-negative",
        "max retries must be non-negative",
        "max concurrent streams must be non-negative",
        "duration must be greater than 1ms",
        "use client protocol must not be true when H2UpgradePolicy is UPGRADE",
      ],
    },
    {
      text: "defaultTrafficPolicy: {connectionPool: {tcp: {maxConnections: -1, connectTimeout: 1.0005s, maxConnectionDuration: 0s, idleTimeout: 0.5ms, tcpKeepalive: {time: 0s, interval: 1500us}}}}",
      says: [
        "max connections must be non-negative",
        "only durations to ms precision are supported",
        "duration must be greater than 1ms",
        "duration must be greater than 1ms",
        "only durations to ms precision are supported",
      ],
    },
    {
      text: "defaultTrafficPolicy: {outlierDetection: {consecutiveLocalOriginFailures: 3, maxEjectionPercent: 101, minHealthPercent: -1, interval: 0s, baseEjectionTime: 1us}}",
      says: [
        "duration must be greater than 1ms",
        "duration must be greater than 1ms",
        "outlier detection consecutive local origin failures is specified, but split external local origin errors is set to false",
        "percentage 101 is not in range 0..100",
        "percentage -1 is not in range 0..100",
      ],
    },
    {
      text: "defaultTrafficPolicy: {connectionPool: {tcp: {idleTimeout: 0s}}, outlierDetection: {splitExternalLocalOriginErrors: true, consecutiveLocalOriginFailures: 3, consecutive_5xx_errors: 1}}",
      says: [],
    },
  ])("$text", async ({ text, says }) => {
    const { config, problems } = await apply(text);
    expect(problems).toEqual([]);
    expect(meshConfigProblems(config, rules).map((problem) => problem.message)).toEqual(says);
  });

  test("errors keep their order and are listed, a lone timeout stands bare", async () => {
    const several = meshConfigProblems(
      (await apply("trustDomain: -x\nproxyListenPort: 0\nconnectTimeout: 2h")).config,
      rules,
    );
    expect(formatMeshProblems(several)).toBe(
      '3 errors occurred:\n\t* invalid proxy listen port: port number 0 must be in the range 1..65535\n\t* invalid connect timeout: time 2h0m0s must be >1ms and <1h0m0s\n\t* trustDomain: trust domain name "-x" invalid\n\n',
    );
    const lone = meshConfigProblems((await apply("connectTimeout: 2h")).config, rules);
    expect(formatMeshProblems(lone)).toBe("invalid connect timeout: time 2h0m0s must be >1ms and <1h0m0s");
    const domain = meshConfigProblems((await apply("trustDomain: -x")).config, rules);
    expect(formatMeshProblems(domain)).toMatch(/^1 error occurred:/);
  });

  test.each([
    "proxyListenPort: 0",
    "protocolDetectionTimeout: 1us",
    "localityLbSetting: {failover: [{from: a, to: a}]}",
    "zoneAwareLbSetting: {failover: [{from: a, to: a}]}",
    "defaultTrafficPolicy: {outlierDetection: {maxEjectionPercent: 101}}",
  ])("%s alone stands bare too", async (text) => {
    const [lone, ...others] = meshConfigProblems((await apply(text)).config, rules);
    expect(others).toEqual([]);
    expect(formatMeshProblems(lone === undefined ? [] : [lone])).toBe(lone?.message);
  });

  test("a mesh without defaultConfig is incomplete", () => {
    const { defaultConfig: _none, ...rest } = defaults;
    expect(meshConfigProblems(rest, rules)).toEqual([{ field: "defaultConfig", message: "missing default config" }]);
  });

  test.each([
    {
      text: "tlsDefaults: {ecdhCurves: [foo, P-256, P-256]}",
      says: ["detected unrecognized ECDH curves: [foo]", "detected duplicate ECDH curves: [P-256]"],
    },
    {
      text: "defaultConfig: {proxyMetadata: {ISTIO_META_DNS_AUTO_ALLOCATE: 'true'}}",
      says: ["proxyMetadata ISTIO_META_DNS_AUTO_ALLOCATE is deprecated"],
    },
    {
      text: "defaultInboundHttpRetryPolicy: {attempts: 1, perTryTimeout: 1s}",
      says: ["defaultInboundHttpRetryPolicy: perTryTimeout is ignored for inbound retries"],
    },
  ])("$text only warns", async ({ text, says }) => {
    const { config } = await apply(text);
    expect(meshConfigProblems(config, rules)).toEqual([]);
    expect(meshConfigWarnings(config)).toEqual(says);
  });
});

describe("extension providers", () => {
  test.each([
    { provider: "{name: a, zipkin: {service: z.ns.svc, port: 9411}}", says: [] },
    {
      provider: "{name: a, zipkin: {}}",
      says: ["service must not be empty", "invalid service port: port number 0 must be in the range 1..65535"],
    },
    { provider: "{name: a, datadog: {service: 10.0.0.1, port: 1}}", says: [] },
    { provider: "{name: a, opencensus: {service: ns/a.b, port: 1}}", says: [] },
    { provider: "{name: a, skywalking: {service: ns/a, port: 1}}", says: ["short names (non FQDN) are not allowed"] },
    { provider: "{name: a, skywalking: {service: _/a.b, port: 1}}", says: ['invalid namespace value "_" in sidecar'] },
    {
      provider: "{name: a, skywalking: {service: a_b, port: 1}}",
      says: ["invalid service fmt a_b: a_b is not a valid IP"],
    },
    { provider: "{name: a, lightstep: {service: a.b, port: 1}}", says: ["access token is required"] },
    {
      provider: "{name: a, envoyExtAuthzHttp: {service: a.b, port: 1, pathPrefix: x, statusOnError: '99'}}",
      says: [
        "unsupported statusOnError value 99, supported values: 100..599",
        'pathPrefix should begin with `/` but found "x"',
      ],
    },
    {
      provider: "{name: a, envoyExtAuthzGrpc: {service: a.b, statusOnError: x}}",
      says: [
        "invalid service port: port number 0 must be in the range 1..65535",
        'invalid statusOnError value x: strconv.ParseInt: parsing "x": invalid syntax',
      ],
    },
    {
      provider: "{name: a, opentelemetry: {service: a.b, port: 1, http: {}, grpc: {}}}",
      says: ["OpenTelemetryTracingProvider cannot specify both grpc and http"],
    },
    { provider: "{name: a}", says: ["unsupported provider: <nil> of type <nil>"] },
  ])("$provider", async ({ provider, says }) => {
    const { config, problems } = await apply(`extensionProviders: [${provider}]`, {});
    expect(problems).toEqual([]);
    expect(extensionProviderProblems(config)).toEqual(says.map((reason) => `invalid extension provider a: ${reason}`));
  });
});

test.each([
  { from: ["*", "a"], second: true },
  { from: ["a", "a/b"], second: true },
  { from: ["a/b", "a"], second: true },
  { from: ["a/*", "a"], second: true },
  { from: ["a/*", "a/b/c"], second: true },
  { from: ["a/b", "a/b/c"], second: true },
  { from: ["a/b/c", "a/b"], second: true },
  { from: ["a/b/*", "a/b/c"], second: true },
  { from: ["a/b/*", "a/b"], second: true },
  { from: ["a/b/c", "a/b/c"], second: true },
  { from: ["a/b", "a/*"], second: false },
  { from: ["a/b/c", "a/b/*"], second: false },
  { from: ["a/b", "a/c"], second: false },
  { from: ["a/b/c", "a/b/d"], second: false },
  { from: ["a", "b"], second: false },
])("of the localities $from the second overlaps: $second", ({ from, second }) => {
  const distribute = from.map((name) => ({ from: name, to: { r: 100 } }));
  const says = localityLbProblems({ distribute }).map(({ message }) => message);
  expect(says).toEqual(second ? [`locality ${from[1]} overlap with previous specified ones`] : []);
});
