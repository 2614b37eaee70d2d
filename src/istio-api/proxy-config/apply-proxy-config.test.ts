import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseYaml } from "../../files/yaml/parse-yaml.ts";
import { generationRules } from "../../settings/generations.ts";
import { applyProxyConfig, proxyConfigJson } from "./apply-proxy-config.ts";
import { defaultProxyConfig } from "./default-proxy-config.ts";

const master = generationRules("master");
const defaults = defaultProxyConfig(master);

async function overlay(text: string, base = defaults, rules = master) {
  return applyProxyConfig(base, await parseYaml(text), rules);
}

describe("decoding", () => {
  test.each([
    { text: "discoveryAddress: foo:123", gives: { discoveryAddress: "foo:123" } },
    { text: "discovery_address: foo:123", gives: { discoveryAddress: "foo:123" } },
    { text: "discovery_address: a:1\ndiscoveryAddress: b:2", gives: { discoveryAddress: "b:2" } },
    { text: "discoveryAddress: b:2\ndiscovery_address: a:1", gives: { discoveryAddress: "b:2" } },
    {
      text: "discoveryAddress: null\ndiscovery_address: a:1",
      gives: { discoveryAddress: "istiod.istio-system.svc:15012" },
    },
    { text: "discoveryAddress: a:1\ndiscoveryAddress: b:2", gives: { discoveryAddress: "b:2" } },
    { text: '{"discoveryAddress":"j:1"}', gives: { discoveryAddress: "j:1" } },
    { text: "{discoveryAddress: f:1}", gives: { discoveryAddress: "f:1" } },
    { text: "concurrency: 3", gives: { concurrency: 3 } },
    { text: 'concurrency: "3"', gives: { concurrency: 3 } },
    { text: "concurrency: 1e1", gives: { concurrency: 10 } },
    { text: "concurrency: 0", gives: { concurrency: 0 } },
    { text: "concurrency: 1.0", gives: { concurrency: 1 } },
    { text: "statsCompression: off", gives: { statsCompression: false } },
    { text: "holdApplicationUntilProxyStarts: yes", gives: { holdApplicationUntilProxyStarts: true } },
    { text: "drainDuration: 1m30s", gives: { drainDuration: "90s" } },
    { text: "drainDuration: 500ms", gives: { drainDuration: "0.500s" } },
    { text: "terminationDrainDuration: 1500us", gives: { terminationDrainDuration: "0.001500s" } },
    { text: "drainDuration: 1ns", gives: { drainDuration: "0.000000001s" } },
    { text: "drainDuration: -1.5s", gives: { drainDuration: "-1.500s" } },
    { text: "drainDuration: 0", gives: undefined },
    { text: 'drainDuration: "0"', gives: { drainDuration: "0s" } },
    { text: "controlPlaneAuthPolicy: 0", gives: { controlPlaneAuthPolicy: "NONE" } },
    { text: "controlPlaneAuthPolicy: NONE", gives: { controlPlaneAuthPolicy: "NONE" } },
    { text: "controlPlaneAuthPolicy: 77", gives: { controlPlaneAuthPolicy: 77 } },
    {
      text: "tracing: {stackdriver: {maxNumberOfAttributes: 5}}",
      gives: { tracing: { stackdriver: { maxNumberOfAttributes: "5" } } },
    },
    {
      text: "tracing: {customTags: {a: null, b: {literal: {value: x}}}}",
      gives: { tracing: { customTags: { a: {}, b: { literal: { value: "x" } } } } },
    },
    {
      text: "tracing: {zipkin: {address: a:1}, datadog: {address: b:1}}",
      gives: { tracing: { datadog: { address: "b:1" } } },
    },
    { text: "sds: {k8s_sa_jwt_path: /x}", gives: { sds: { k8sSaJwtPath: "/x" } } },
    {
      text: "connectionSettings: {http2_initial_stream_window_size: 70000}",
      gives: { connectionSettings: { http2InitialStreamWindowSize: 70000 } },
    },
    { text: "caCertificatesPem: [a, null]", gives: { caCertificatesPem: ["a", ""] } },
    { text: "# only a comment", gives: {} },
    { text: "null", gives: {} },
    { text: "", gives: {} },
    {
      text: "junk: 1\nproxyMetadata:\ntracing: {zipkin: {address: a:1, more: 2}}",
      gives: { tracing: { zipkin: { address: "a:1" } } },
    },
  ])("$text", async ({ text, gives }) => {
    const { config, problems } = await overlay(text);
    if (gives === undefined) return expect(problems).toHaveLength(1);
    expect(problems).toEqual([]);
    expect(config).toEqual({ ...defaults, ...gives });
  });

  test.each([
    { text: "meshId: 123", path: "meshId", says: "json: cannot unmarshal number into Go value of type string" },
    { text: "meshId: true", path: "meshId", says: "json: cannot unmarshal bool into Go value of type string" },
    {
      text: "proxyMetadata: {A: true}",
      path: "proxyMetadata.A",
      says: "json: cannot unmarshal bool into Go value of type string",
    },
    {
      text: "proxyMetadata: [a]",
      path: "proxyMetadata",
      says: "json: cannot unmarshal array into Go value of type map[string]json.RawMessage",
    },
    {
      text: "extraStatTags: a",
      path: "extraStatTags",
      says: "json: cannot unmarshal string into Go value of type []json.RawMessage",
    },
    {
      text: "extraStatTags: [a, 1]",
      path: "extraStatTags[1]",
      says: "json: cannot unmarshal number into Go value of type string",
    },
    { text: "[a]", path: "", says: "json: cannot unmarshal array into Go value of type map[string]json.RawMessage" },
    { text: "foo", path: "", says: "json: cannot unmarshal string into Go value of type map[string]json.RawMessage" },
    {
      text: 'statsCompression: "true"',
      path: "statsCompression",
      says: "json: cannot unmarshal string into Go value of type bool",
    },
    {
      text: "concurrency: 1.5",
      path: "concurrency",
      says: "json: cannot unmarshal number 1.5 into Go value of type int32",
    },
    {
      text: "concurrency: 3000000000",
      path: "concurrency",
      says: "json: cannot unmarshal number 3000000000 into Go value of type int32",
    },
    { text: "concurrency: x1", path: "concurrency", says: "invalid character 'x' looking for beginning of value" },
    {
      text: "fileFlushMinSizeKb: -1",
      path: "fileFlushMinSizeKb",
      says: "json: cannot unmarshal number -1 into Go value of type uint32",
    },
    { text: "statusPort: {}", path: "statusPort", says: "json: cannot unmarshal object into Go value of type int32" },
    { text: 'drainDuration: "30"', path: "drainDuration", says: 'bad Duration: time: missing unit in duration "30"' },
    {
      text: "drainDuration: 30",
      path: "drainDuration",
      says: "json: cannot unmarshal number into Go value of type string",
    },
    {
      text: "controlPlaneAuthPolicy: FOO",
      path: "controlPlaneAuthPolicy",
      says: 'unknown value "\\"FOO\\"" for enum istio.mesh.v1alpha1.AuthenticationPolicy',
    },
    {
      text: "controlPlaneAuthPolicy: none",
      path: "controlPlaneAuthPolicy",
      says: 'unknown value "\\"none\\"" for enum istio.mesh.v1alpha1.AuthenticationPolicy',
    },
    {
      text: "controlPlaneAuthPolicy: true",
      path: "controlPlaneAuthPolicy",
      says: "json: cannot unmarshal bool into Go value of type protoreflect.EnumNumber",
    },
    {
      text: "tracing: {zipkin: {address: 5}}",
      path: "tracing.zipkin.address",
      says: "json: cannot unmarshal number into Go value of type string",
    },
    {
      text: "tracing: {sampling: lots}",
      path: "tracing.sampling",
      says: "invalid character 'l' looking for beginning of value",
    },
  ])("$text is refused at $path", async ({ text, path, says }) => {
    expect((await overlay(text)).problems).toMatchObject([{ path, message: says }]);
  });

  test("all problems of a document are reported, in the order of the fields", async () => {
    const { problems } = await overlay("meshId: 1\nconfigPath: 2\nstatusPort: x");
    expect(problems.map((problem) => problem.path)).toEqual(["configPath", "statusPort", "meshId"]);
  });

  test("unknown keys are reported by their path", async () => {
    expect((await overlay("a: 1\ntracing: {zipkin: {b: 1}}")).unknown).toEqual(["tracing.zipkin.b", "a"]);
  });

  test("1.7 knows parentShutdownDuration, later generations ignore it", async () => {
    const old = generationRules("1.7");
    expect(
      (await overlay("parentShutdownDuration: 90s", defaultProxyConfig(old), old)).config.parentShutdownDuration,
    ).toBe("90s");
    expect((await overlay("parentShutdownDuration: 90s")).unknown).toEqual(["parentShutdownDuration"]);
  });
});

describe("merging", () => {
  test("a present field replaces the whole field", async () => {
    const base = (
      await overlay("tracing: {zipkin: {address: a:1}, sampling: 5}\nextraStatTags: [a]\nruntimeValues: {a: x}")
    ).config;
    expect((await overlay("tracing: {}", base)).config.tracing).toEqual({});
    expect((await overlay("extraStatTags: [b]", base)).config.extraStatTags).toEqual(["b"]);
    expect((await overlay("runtimeValues: {b: z}", base)).config.runtimeValues).toEqual({ b: "z" });
    expect((await overlay("tracing: null", base)).config.tracing).toEqual({ zipkin: { address: "a:1" }, sampling: 5 });
  });

  test("proxyMetadata merges by key, the overlay wins and no key goes away", async () => {
    const base = (await overlay("proxyMetadata: {A: a, B: b}")).config;
    expect((await overlay("proxyMetadata: {B: x, C: c}", base)).config.proxyMetadata).toEqual({
      A: "a",
      B: "x",
      C: "c",
    });
    const old = generationRules("1.7");
    expect((await overlay("proxyMetadata: {C: c}", base, old)).config.proxyMetadata).toEqual({ C: "c" });
  });

  test.each([
    {
      base: "{requestId: {disabled: true}}",
      over: "{requestId: {disabled: false}}",
      gives: { requestId: { disabled: false } },
    },
    { base: "{requestId: {disabled: true}}", over: "{requestId: {}}", gives: { requestId: {} } },
    { base: "{server: {value: x}}", over: "{server: {disabled: true}}", gives: { server: { disabled: true } } },
    {
      base: "{server: {value: x}, attemptCount: {disabled: true}, envoyDebugHeaders: {disabled: true}, forwardedClientCert: SANITIZE}",
      over: "{requestId: {disabled: true}}",
      gives: {
        server: { value: "x" },
        attemptCount: { disabled: true },
        envoyDebugHeaders: { disabled: true },
        forwardedClientCert: "SANITIZE",
        requestId: { disabled: true },
      },
    },
    { base: "{preserveHttp1HeaderCase: true, metadataExchangeHeaders: {mode: IN_MESH}}", over: "{}", gives: {} },
  ])("proxyHeaders $base overlaid with $over", async ({ base, over, gives }) => {
    const before = (await overlay(`proxyHeaders: ${base}`)).config;
    expect((await overlay(`proxyHeaders: ${over}`, before)).config.proxyHeaders).toEqual(gives);
  });

  test("setting one member of a oneof clears the other", async () => {
    const named = (await overlay("tracingServiceName: CANONICAL_NAME_ONLY")).config;
    expect(named).not.toHaveProperty("serviceCluster");
    expect((await overlay("serviceCluster: x", named)).config).not.toHaveProperty("tracingServiceName");
    const both = (await overlay("tracingServiceName: CANONICAL_NAME_ONLY\nserviceCluster: x")).config;
    expect([both.serviceCluster, both.tracingServiceName]).toEqual([undefined, "CANONICAL_NAME_ONLY"]);
  });
});

describe("the JSON form", () => {
  test("zero values of plain fields are left out at every depth; wrappers, oneof members, messages and durations stay", () => {
    const { config } = applyProxyConfig(
      {},
      {
        controlPlaneAuthPolicy: "NONE",
        interceptionMode: "REDIRECT",
        concurrency: 0,
        statsCompression: false,
        serviceCluster: "",
        extraStatTags: [],
        meshId: "",
        terminationDrainDuration: "0s",
        image: { imageType: "" },
        tracing: { zipkin: { address: "" }, sampling: 0, maxPathTagLength: 0, customTags: {}, enableIstioTags: false },
        gatewayTopology: { numTrustedProxies: 0, forwardClientCertDetails: "UNDEFINED", proxyProtocol: {} },
        proxyStatsMatcher: { inclusionPrefixes: [], inclusionSuffixes: ["a"] },
        proxyHeaders: { metadataExchangeHeaders: { mode: "UNDEFINED" }, server: { disabled: false, value: "" } },
        connectionSettings: { profile: "SIDECAR", httpMergeSlashes: false },
        envoyMetricsService: {
          address: "a:1",
          tlsSettings: { mode: "DISABLE", sni: "s" },
          tcpKeepalive: { probes: 0 },
        },
        envoyAccessLogService: { address: "" },
        proxyMetadata: { A: "" },
        runtimeValues: {},
      },
      master,
    );
    expect(proxyConfigJson(config)).toEqual({
      concurrency: 0,
      statsCompression: false,
      serviceCluster: "",
      terminationDrainDuration: "0s",
      image: {},
      tracing: { zipkin: {}, enableIstioTags: false },
      gatewayTopology: { proxyProtocol: {} },
      proxyStatsMatcher: { inclusionSuffixes: ["a"] },
      proxyHeaders: { metadataExchangeHeaders: {}, server: { disabled: false } },
      connectionSettings: { httpMergeSlashes: false },
      envoyMetricsService: { address: "a:1", tlsSettings: { sni: "s" }, tcpKeepalive: {} },
      envoyAccessLogService: {},
      proxyMetadata: { A: "" },
    });
  });
});

describe("properties", () => {
  const anyDocument = fc.dictionary(
    fc.constantFrom(
      "tracing",
      "proxyMetadata",
      "meshId",
      "concurrency",
      "drainDuration",
      "proxyHeaders",
      "extraStatTags",
      "sds",
      "a",
    ),
    fc.jsonValue(),
  );

  test("random JSON gives a config or problems with a path, and never changes its inputs", () => {
    fc.assert(
      fc.property(fc.oneof(anyDocument, fc.jsonValue()), anyDocument, (first, second) => {
        const copies = structuredClone([first, second]);
        const base = applyProxyConfig(defaults, first, master);
        const before = structuredClone(base.config);
        const { problems } = applyProxyConfig(base.config, second, master);
        for (const problem of problems) expect(problem.message).not.toBe("");
        expect([first, second]).toEqual(copies);
        expect(base.config).toEqual(before);
      }),
    );
  });

  test("an empty overlay is the identity, and applying twice is applying once", () => {
    fc.assert(
      fc.property(anyDocument, (document) => {
        const once = applyProxyConfig(defaults, document, master).config;
        expect(applyProxyConfig(once, {}, master).config).toEqual(once);
        expect(applyProxyConfig(once, document, master).config).toEqual(once);
      }),
    );
  });

  test("the result is frozen to its leaves", async () => {
    const { config } = await overlay("tracing: {customTags: {a: {literal: {value: x}}}}");
    expect(Object.isFrozen(config.tracing?.customTags?.a?.literal)).toBe(true);
  });
});
