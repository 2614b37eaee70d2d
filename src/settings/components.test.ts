import { describe, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { silentLogger } from "../base/logger.ts";
import { defaultProxyConfig } from "../istio-api/proxy-config/default-proxy-config.ts";
import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import { STATUS_RULES } from "../status/core/generations.ts";
import { readBootstrapSettings } from "./bootstrap.ts";
import { readDnsSettings } from "./dns.ts";
import { createEnvReader, type Environment } from "./env-reader.ts";
import { readEnvoySettings, splitProxyLogLevel } from "./envoy.ts";
import { type Generation, generationRules } from "./generations.ts";
import { defaultProxyFlags, type ProxyFlags } from "./proxy-flags.ts";
import { readAgentOptions } from "./read-agent-config.ts";
import type { ProxyRole } from "./role/read-role.ts";
import { readStatusSettings } from "./status.ts";
import { readWasmSettings } from "./wasm.ts";
import { readProxySettings, readXdsSettings, xdsServerName } from "./xds.ts";

const role: ProxyRole = {
  type: "sidecar",
  ipAddresses: ["10.0.0.1"],
  ipMode: "ipv4",
  isIpv6: false,
  supportsIpv6: false,
  id: "p.ns",
  dnsDomain: "ns.svc.cluster.local",
  serviceNode: "sidecar~10.0.0.1~p.ns~ns.svc.cluster.local",
};

function given(
  env: Environment = {},
  generation: Generation = "master",
  change: { flags?: Partial<ProxyFlags>; config?: ProxyConfig } = {},
) {
  const rules = generationRules(generation);
  const log = recordLog();
  const lines = log.printed;
  return {
    rules,
    log,
    lines,
    env: createEnvReader(env, generation, (text) => lines.push(text)),
    flags: { ...defaultProxyFlags(rules), ...change.flags },
    proxyConfig: { ...defaultProxyConfig(rules), ...change.config },
    role,
    uid: 1337,
  };
}

const RELAY = { discoveryAddress: "istiod.istio-system.svc:15012", root: { path: "root.pem" } };

describe("dns", () => {
  test.each([
    { env: {}, type: "sidecar", enabled: false },
    { env: { ISTIO_META_DNS_CAPTURE: "true" }, type: "sidecar", enabled: true },
    { env: { ISTIO_META_DNS_CAPTURE: "true" }, type: "router", enabled: false },
    { env: { ISTIO_META_ENABLE_DNS_SERVER: "true" }, type: "router", enabled: true },
    { env: { ISTIO_META_DNS_CAPTURE: "ALL" }, type: "sidecar", enabled: false },
  ] as const)("$env on a $type: $enabled", ({ env, type, enabled }) => {
    const read = readDnsSettings(
      given(env).env,
      { ...role, type },
      generationRules("master"),
      false,
      RELAY,
      silentLogger,
    );
    expect(read !== undefined).toBe(enabled);
  });

  test("defaults", () => {
    const env = { POD_NAMESPACE: "ns", ISTIO_META_DNS_CAPTURE: "true" };
    expect(readDnsSettings(given(env).env, role, generationRules("master"), true, RELAY, silentLogger)).toEqual({
      listen: "localhost:15053",
      forwardMode: "sequential",
      forwardTimeoutMs: 5000,
      threads: 1,
      proxyNamespace: "ns",
      proxyDomain: "ns.svc.cluster.local",
      asRoot: true,
      rules: generationRules("master").dns,
    });
  });
});

test.each([
  { generation: "1.7", text: "DNS-TLS", listens: true },
  { generation: "1.7", text: "", listens: false },
  { generation: "1.8", text: "DNS-TLS", listens: false },
] as const)("DNS_AGENT=$text of $generation: a server where the rules send queries: $listens", (row) => {
  const { env, rules, log, lines } = given({ DNS_AGENT: row.text }, row.generation);
  const settings = readDnsSettings(env, role, rules, false, RELAY, log);
  expect(settings?.listen).toBe(row.listens ? "localhost:15053" : undefined);
  expect(settings?.forwardsBeforeSync).toBe(row.listens ? true : undefined);
  expect(settings?.relay?.port).toBe(row.listens ? 853 : undefined);
  expect(lines).toEqual([]);
});

test.each([
  { discoveryAddress: "istiod.mesh:15012", server: "", gives: ["istiod.mesh", 853, "istiod.mesh"], lines: 0 },
  { discoveryAddress: "127.0.0.1:15012", server: "", gives: ["127.0.0.1", 15012, "istiod.istio-system.svc"], lines: 0 },
  {
    discoveryAddress: "nonsense",
    server: "",
    gives: ["istiod.istio-system.svc", 853, "istiod.istio-system.svc"],
    lines: 1,
  },
  {
    discoveryAddress: "istiod.mesh:1",
    server: "tcp-tls:dns.mesh:8853",
    gives: ["dns.mesh", 8853, "dns.mesh"],
    lines: 0,
  },
  { discoveryAddress: "istiod.mesh:1", server: "dns.mesh:53", gives: ["istiod.mesh", 853, "istiod.mesh"], lines: 1 },
])("DNS_AGENT of $discoveryAddress with DNS_SERVER=$server asks $gives over TLS", (row) => {
  const { env, rules, log, lines } = given({ DNS_AGENT: "x", DNS_SERVER: row.server }, "1.7");
  const sources = { ...RELAY, discoveryAddress: row.discoveryAddress };
  const { relay } = readDnsSettings(env, { ...role, dnsDomain: "ns.svc.Mesh.Local" }, rules, false, sources, log) ?? {};
  expect([relay?.host, relay?.port, relay?.serverName]).toEqual(row.gives);
  expect(relay?.suffixes).toEqual(["global.", "mesh.local."]);
  expect(relay?.rootFile).toBe("root.pem");
  expect(lines).toHaveLength(row.lines);
});

test("DNS_AGENT without a root certificate forwards everything, and says so", () => {
  const { env, rules, log, lines } = given({ DNS_AGENT: "x" }, "1.7");
  const settings = readDnsSettings(env, role, rules, false, { ...RELAY, root: { problem: "there is none" } }, log);
  expect(settings).toMatchObject({ forwardsBeforeSync: true });
  expect(settings?.relay).toBeUndefined();
  expect(lines).toEqual(["warn DNS_AGENT: names of the mesh are not resolved: there is none"]);
});

test.each(["master", "1.20", "1.7"] as const)("the reader of traced packets can be switched on in %s", (generation) => {
  const { env } = given({ IPTABLES_TRACE_LOGGING: "true" }, generation);
  expect(readAgentOptions(env).iptablesTraceLogging).toBe(true);
});

describe("envoy", () => {
  test.each([
    {
      level: "info,misc:error,upstream:debug",
      components: "x:y",
      gives: { level: "info", components: "misc:error,upstream:debug" },
      warns: 0,
    },
    { level: "warning", components: "misc:error", gives: { level: "warning", components: "misc:error" }, warns: 0 },
    { level: "info,", components: "", gives: { level: "", components: "" }, warns: 0 },
    { level: "", components: "", gives: { level: "", components: "" }, warns: 0 },
    { level: "misc:error", components: "", gives: { level: "", components: "misc:error" }, warns: 0 },
    { level: "info,a:b:c,debug", components: "", gives: { level: "debug", components: "" }, warns: 1 },
  ])("log level $level", ({ level, components, gives, warns }) => {
    const { rules, log, lines } = given();
    expect(splitProxyLogLevel(level, components, rules, log)).toEqual(gives);
    expect(lines).toHaveLength(warns);
    if (warns > 0) expect(lines).toEqual(["warn dropping invalid log level: a:b:c"]);
  });

  test("1.7 passes the level on as it is", () => {
    const { rules, log } = given({}, "1.7");
    expect(splitProxyLogLevel("a,b:c", "misc:error", rules, log)).toEqual({ level: "a,b:c", components: "misc:error" });
  });

  test("defaults and values from the ProxyConfig", () => {
    expect(
      readEnvoySettings(
        given({}, "master", {
          config: {
            concurrency: -3,
            drainDuration: "90s",
            terminationDrainDuration: "0.500s",
            fileFlushInterval: "2s",
          },
        }),
      ),
    ).toMatchObject({
      binaryPath: "/usr/local/bin/envoy",
      admin: { host: "127.0.0.1", port: 15000 },
      args: {
        logLevel: "warning",
        concurrency: 0,
        drainMs: 90_000,
        fileFlushIntervalMs: 2000,
        skipDeprecatedLogs: true,
      },
      termination: { drainMs: 500, inboundOnly: true, ownPorts: [15021, 15090] },
    });
    expect(readEnvoySettings(given({}, "1.20")).args.skipDeprecatedLogs).toBe(false);
  });

  test.each([
    { what: "without hot restart there is none", env: {}, generation: "master", gives: undefined },
    { what: "the usual drain", env: { ENVOY_HOT_RESTART: "true" }, generation: "master", gives: 60_000 },
    { what: "the default of the generation", env: {}, generation: "1.7", gives: 60_000 },
    {
      what: "the field of the ProxyConfig",
      env: {},
      generation: "1.8",
      config: { parentShutdownDuration: "90s", drainDuration: "10s" },
      gives: 90_000,
    },
  ] as const)("parent shutdown of $generation, $what: $gives", ({ env, generation, gives, ...change }) => {
    expect(readEnvoySettings(given(env, generation, change)).hotRestart?.parentShutdownMs).toBe(gives);
  });

  test.each([
    { value: "61s", ms: 61_000, isIgnored: false },
    { value: "45s", ms: 60_000, isIgnored: true },
    { value: "60500ms", ms: 60_000, isIgnored: true },
    { value: "2h", ms: 60_000, isIgnored: true },
  ])("ENVOY_PARENT_SHUTDOWN_DURATION=$value beside a drain of 45 s", ({ value, ms, isIgnored }) => {
    const sources = given({ ENVOY_HOT_RESTART: "true", ENVOY_PARENT_SHUTDOWN_DURATION: value });
    expect(readEnvoySettings(sources).hotRestart?.parentShutdownMs).toBe(ms);
    expect(sources.lines.some((line) => line.includes("more than the drain duration of 45 s"))).toBe(isIgnored);
  });

  test.each([
    { ipAddresses: [], host: "127.0.0.1" },
    { ipAddresses: ["10.0.0.1"], host: "127.0.0.1" },
    { ipAddresses: ["2001:db8::1", "10.0.0.1"], host: "127.0.0.1" },
    { ipAddresses: ["2001:db8::1", "2001:db8::2"], host: "::1" },
  ])("the admin of a node with $ipAddresses is on $host", ({ ipAddresses, host }) => {
    expect(readEnvoySettings({ ...given(), role: { ...role, ipAddresses } }).admin.host).toBe(host);
  });

  test.each([
    { uid: 0, address: "localhost:53", gives: true },
    { uid: 1337, address: "localhost:53", gives: false },
    { uid: 0, address: "localhost:15053", gives: false },
  ])("uid $uid and DNS on $address: gives up root $gives", ({ uid, address, gives }) => {
    expect(readEnvoySettings({ ...given({ DNS_PROXY_ADDR: address }), uid }).user !== undefined).toBe(gives);
  });
});

describe("xds", () => {
  const sources = {
    provCert: "",
    fileMountedCerts: false,
    pilotCertProvider: "istiod",
    usesKubernetesRoots: false,
  };
  const read = (env: Environment = {}, generation: Generation = "master", change: Parameters<typeof given>[2] = {}) => {
    const { env: reader, proxyConfig, rules } = given(env, generation, change);
    return readXdsSettings(
      reader,
      proxyConfig,
      rules,
      sources,
      (path) => path === "var/run/secrets/istio/root-cert.pem",
    );
  };

  test.each([
    { address: "istiod.istio-system.svc:15012", name: "istiod.istio-system.svc" },
    { address: "localhost:15012", name: "istiod.istio-system.svc" },
    { address: "127.0.0.1:15012", name: "127.0.0.1" },
    { address: "[2001:db8::1]:15012", name: "2001:db8::1" },
    { address: "bare", name: "bare" },
  ])("the certificate of the control plane at $address is for $name", ({ address, name }) => {
    expect(xdsServerName(address, "")).toBe(name);
    expect(xdsServerName(address, "other")).toBe("other");
  });

  test("defaults", () => {
    expect(read({ XDS_HEADER_A: "b" })).toMatchObject({
      proxy: { socketPath: "etc/istio/proxy/XDS", maxReceiveBytes: 67_108_864 },
      upstream: { headers: { A: "b" }, compression: true },
      tls: { serverName: "istiod.istio-system.svc", root: { path: "var/run/secrets/istio/root-cert.pem" } },
      tapPort: 15004,
      viaAgent: true,
      lastGoodDirectory: "",
    });
  });

  test("without mutual TLS there is none", () => {
    expect(read({}, "master", { config: { controlPlaneAuthPolicy: "NONE" } }).tls).toBeUndefined();
  });

  test.each([
    { provider: "gcp", generation: "1.20", gives: true },
    { provider: "other", generation: "1.20", gives: false },
    { provider: "gcp", generation: "master", gives: false },
  ] as const)("XDS_AUTH_PROVIDER=$provider of $generation exchanges tokens: $gives", (row) => {
    expect(read({ XDS_AUTH_PROVIDER: row.provider }, row.generation).exchangesTokens).toBe(row.gives);
  });

  test("the debug tap exists since 1.20, direct connections on 1.8 only", () => {
    expect(read({}, "1.8").tapPort).toBe(0);
    expect(read({}, "1.20")).toMatchObject({ tapPort: 15004 });
    expect(read({ PROXY_XDS_DEBUG_VIA_AGENT: "false" }, "1.20").tapPort).toBe(0);
    const direct = { PROXY_XDS_VIA_AGENT: "false" };
    expect([read(direct, "1.8").viaAgent, read(direct).viaAgent]).toEqual([false, true]);
  });

  test.each([
    { what: "the defaults", asked: [], upstream: [15_000, 10_000], downstream: [30_000, 10_000] },
    { what: "seconds", asked: ["1s", "2s"], upstream: [10_000, 2000], downstream: [1000, 2000] },
    { what: "minutes", asked: ["5m", "1m"], upstream: [15_000, 10_000], downstream: [300_000, 60_000] },
    { what: "something between", asked: ["12s", "5s"], upstream: [12_000, 5000], downstream: [12_000, 5000] },
    { what: "less than a second", asked: ["20ms", "30ms"], upstream: [10_000, 30], downstream: [1000, 30] },
    { what: "nothing", asked: ["0s", "0s"], upstream: [10_000, 10_000], downstream: [0, 0] },
    { what: "less than nothing", asked: ["-1ms", "-1ms"], upstream: [10_000, 10_000], downstream: [0, 0] },
  ])("pings with $what asked for", ({ asked: [interval, timeout], upstream, downstream }) => {
    const settings = read({ GRPC_KEEPALIVE_INTERVAL: interval, GRPC_KEEPALIVE_TIMEOUT: timeout });
    const { intervalMs, timeoutMs } = settings.upstream.keepalive;
    expect([intervalMs, timeoutMs]).toEqual(upstream);
    // A look every quarter of the interval, then the wait for the answer.
    expect(intervalMs * 1.25 + timeoutMs).toBeLessThan(30_000);
    const { downstreamKeepalive } = settings.proxy;
    expect([downstreamKeepalive.intervalMs, downstreamKeepalive.timeoutMs]).toEqual(downstream);
  });
});

describe("status", () => {
  const read = (env: Environment, options: { type?: ProxyRole["type"]; config?: ProxyConfig } = {}) => {
    const {
      env: reader,
      flags,
      proxyConfig,
    } = given(env, "master", options.config === undefined ? {} : { config: options.config });
    return readStatusSettings(
      reader,
      flags,
      { ...role, type: options.type ?? "sidecar" },
      proxyConfig,
      STATUS_RULES.master,
    );
  };

  test.each([
    { isIpv6: true, instanceIp: "", localhost: "::1", probeSourceAddress: "::6" },
    { isIpv6: false, instanceIp: "10.0.0.1", localhost: "127.0.0.1", probeSourceAddress: "127.0.0.6" },
    { isIpv6: false, instanceIp: "2001:db8::1", localhost: "::1", probeSourceAddress: "::6" },
    { isIpv6: false, instanceIp: "::ffff:10.0.0.1", localhost: "127.0.0.1", probeSourceAddress: "127.0.0.6" },
    { isIpv6: false, instanceIp: "fe80::1", localhost: "127.0.0.1", probeSourceAddress: "127.0.0.6" },
  ])("IPv6 role $isIpv6 at $instanceIp listens on $localhost", ({ isIpv6, instanceIp, ...addresses }) => {
    const { env, flags, proxyConfig } = given({ INSTANCE_IP: instanceIp });
    const status = readStatusSettings(env, flags, { ...role, isIpv6 }, proxyConfig, STATUS_RULES.master);
    expect(status).toMatchObject(addresses);
  });

  test("probers and scrape settings are decoded", () => {
    const status = read({
      ISTIO_KUBE_APP_PROBERS: '{"/app-health/a/livez":{"httpGet":{"port":8080}}}',
      ISTIO_PROMETHEUS_ANNOTATIONS: '{"scrape":"true"}',
      INSTANCE_IP: "2001:db8::1",
    });
    expect(status).toMatchObject({
      appProbers: { "/app-health/a/livez": { httpGet: { port: 8080 } } },
      prometheus: { scrape: "true" },
      localhost: "::1",
      podIp: "2001:db8::1",
      probeSourceAddress: "::6",
      statusPort: 15020,
      profiling: true,
    });
    expect(Object.isFrozen(status.appProbers)).toBe(true);
  });

  test("unset means none", () => {
    expect(read({ ISTIO_KUBE_APP_PROBERS: "" })).toMatchObject({ appProbers: {}, prometheus: undefined });
  });

  test.each([
    {
      env: { ISTIO_KUBE_APP_PROBERS: "{" },
      says: "failed to decode app prober err = unexpected end of JSON input, json string = {",
    },
    {
      env: { ISTIO_KUBE_APP_PROBERS: "[]" },
      says: "failed to decode app prober err = json: cannot unmarshal array into Go value of type map[string]*status.Prober, json string = []",
    },
    {
      env: { ISTIO_PROMETHEUS_ANNOTATIONS: "{" },
      says: "failed to unmarshal ISTIO_PROMETHEUS_ANNOTATIONS: unexpected end of JSON input",
    },
    {
      env: { ISTIO_PROMETHEUS_ANNOTATIONS: "" },
      says: "failed to unmarshal ISTIO_PROMETHEUS_ANNOTATIONS: unexpected end of JSON input",
    },
  ])("$env stops the start", ({ env, says }) => {
    expect(() => read(env)).toThrow(expect.objectContaining({ code: "invalid-status-options", message: says }));
  });

  test("both problems are reported together", () => {
    expect(() => read({ ISTIO_KUBE_APP_PROBERS: "{", ISTIO_PROMETHEUS_ANNOTATIONS: "x" })).toThrow(
      expect.objectContaining({
        problems: [expect.objectContaining({ value: "{" }), expect.objectContaining({ value: "x" })],
      }),
    );
  });

  test.each([
    { release: "1.7", probers: "", want: undefined },
    { release: "1.7", probers: "{}", want: { targets: 7 } },
    { release: "1.20", probers: "", want: { targets: 7 } },
  ] as const)(
    "$release with probes $probers looks at scrape settings as it did: $want",
    ({ release, probers, want }) => {
      const set = { ISTIO_KUBE_APP_PROBERS: probers, ISTIO_PROMETHEUS_ANNOTATIONS: '{"targets":7}' };
      const { env, flags, proxyConfig } = given(set, release);
      expect(
        readStatusSettings(env, flags, { ...role, type: "sidecar" }, proxyConfig, generationRules(release).status)
          .prometheus,
      ).toEqual(want);
    },
  );

  test("scrape settings are for sidecars, and nothing is decoded without a status server", () => {
    expect(read({ ISTIO_PROMETHEUS_ANNOTATIONS: "" }, { type: "router" }).prometheus).toBeUndefined();
    expect(
      read({ ISTIO_KUBE_APP_PROBERS: "{", ISTIO_PROMETHEUS_ANNOTATIONS: "" }, { config: { statusPort: 0 } }).statusPort,
    ).toBe(0);
  });
});

describe("wasm", () => {
  test("defaults", () => {
    const { env, log, rules } = given();
    expect(readWasmSettings(env, rules.wasm, log)).toEqual({
      directory: "var/lib/istio/data",
      rules: rules.wasm,
      insecureRegistries: [],
      moduleExpiryMs: 86_400_000,
      purgeIntervalMs: 3_600_000,
      requestTimeoutMs: 15_000,
      maxRetries: 5,
      maxModuleBytes: 268_435_456,
      blockedCidrs: [],
    });
  });

  test("remote modules can be left to Envoy", () => {
    const { env, log, rules } = given({ ISTIO_AGENT_ENABLE_WASM_REMOTE_LOAD_CONVERSION: "false" });
    expect(readWasmSettings(env, rules.wasm, log)).toBeUndefined();
  });

  test.each([
    { given: { HTTP_PROXY: "upper:1", http_proxy: "lower:1" }, gives: "upper:1" },
    { given: { HTTP_PROXY: "", http_proxy: "lower:1" }, gives: "lower:1" },
    { given: { HTTPS_PROXY: "secure:1" }, gives: "" },
  ])("the proxy of modules over plain http with $given is $gives", ({ given: variables, gives }) => {
    expect(readProxySettings(given(variables).env).httpProxy).toBe(gives);
  });

  test.each([
    { given: { ALL_PROXY: "upper:1", all_proxy: "lower:1" }, gives: "upper:1" },
    { given: { all_proxy: "socks5://lower:1" }, gives: "socks5://lower:1" },
  ])("the proxy of modules without one for their scheme with $given is $gives", ({ given: variables, gives }) => {
    expect(readProxySettings(given(variables).env)).toMatchObject({ allProxy: gives, httpProxy: "", httpsProxy: "" });
  });

  test("a bad network warns and the others count", () => {
    const { env, log, lines, rules } = given({
      WASM_INSECURE_REGISTRIES: "a:5000, b",
      BLOCKED_CIDRS_IN_WASM_FETCH: "10.0.0.0/8,nope,10.0.0.0/33,fd00::/8,1.2.3.4",
    });
    expect(readWasmSettings(env, rules.wasm, log)).toMatchObject({
      insecureRegistries: ["a:5000", "b"],
      blockedCidrs: ["10.0.0.0/8", "fd00::/8"],
    });
    expect(lines).toHaveLength(3);
  });
});

describe("bootstrap", () => {
  const read = (env: Environment, generation: Generation = "master", flags: Partial<ProxyFlags> = {}) =>
    readBootstrapSettings({ ...given(env, generation, { flags }), exists: (path) => path.startsWith("/etc/") });

  test.each([
    { env: {}, gives: undefined },
    { env: { PEER_METADATA_DISCOVERY: "true" }, gives: true },
    { env: { PEER_METADATA_DISCOVERY: "junk" }, gives: false },
  ])("metadata discovery with $env is $gives", ({ env, gives }) => {
    expect(read(env).agent.metadataDiscovery).toBe(gives);
  });

  test("role and flags reach the node", () => {
    expect(read({}, "master", { stsPort: 15463 })).toMatchObject({
      nodeId: role.serviceNode,
      agent: { stsPort: 15463 },
      features: { deltaXds: true },
    });
    expect(read({}, "1.20").features.deltaXds).toBe(false);
  });

  test.each([
    { configured: "", gives: /^$/ },
    { configured: "/certs/root.pem", gives: /^\/certs\/root\.pem$/ },
    { configured: "SYSTEM", gives: /^\/etc\// },
  ])("XDS_ROOT_CA=$configured gives Envoy a file", ({ configured, gives }) => {
    expect(read({ XDS_ROOT_CA: configured }).agent.xdsRootCert).toMatch(gives);
  });
});

test("an agent without Envoy still writes the bootstrap of gRPC clients", () => {
  expect(readAgentOptions(given({ DISABLE_ENVOY: "true" }).env)).toMatchObject({
    disableEnvoy: true,
    grpcBootstrapPath: "etc/istio/proxy/grpc-bootstrap.json",
  });
});
