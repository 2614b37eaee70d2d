import { describe, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { DISCOVERY_FLAGS } from "../cli/commands/discovery-flags.ts";
import { createFlagValues } from "../cli/framework/flag-values.ts";
import { parseFlags } from "../cli/framework/parse-flags.ts";
import { parsePort, readDiscoverySettings } from "./discovery.ts";

function read(words: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const flags = createFlagValues(DISCOVERY_FLAGS, parseFlags(DISCOVERY_FLAGS, words, true).set, env);
  return readDiscoverySettings(flags, env, recordLog());
}

test("without flags it serves the usual ports, with plaintext for this machine alone", () => {
  expect(read()).toMatchObject({
    ports: {
      http: { host: "", port: 8080 },
      grpc: { host: "", port: 15010 },
      secureGrpc: { host: "", port: 15012 },
      monitoring: { host: "", port: 15014 },
    },
    meshConfigFile: "./etc/istio/config/mesh",
    networksConfigFile: "./etc/istio/config/meshNetworks",
    domainSuffix: "cluster.local",
    clusterId: "Kubernetes",
    systemNamespace: "istio-system",
    caDirectory: "./etc/cacerts",
    tlsMinVersion: "TLSv1.2",
    push: { debounceAfterMs: 100, debounceMaxMs: 10_000, debouncesEndpoints: true, concurrency: 0 },
    auth: {
      requiresIdentity: true,
      requiresPlaintextIdentity: false,
      checksIdentity: true,
      allowsRemotePlaintext: false,
      limitsDebug: false,
      allowsAdmin: false,
    },
    limits: {
      streamsPerSecond: 0,
      maxConcurrentStreams: 100_000,
      maxReceiveBytes: 4_194_304,
      sendTimeoutMs: 0,
      maxStreamsPerIdentity: 5000,
      maxNamesPerIdentity: 250_000,
      maxNameBytesPerIdentity: 33_554_432,
    },
    keepalive: { intervalMs: 30_000, timeoutMs: 10_000 },
    shutdownMs: 10_000,
  });
  expect(read()).not.toHaveProperty("configDir");
  expect(read()).not.toHaveProperty("tlsCiphers");
  expect(read()).not.toHaveProperty("sharesHttpPort");
  expect(read()).not.toHaveProperty("maxConnectionAgeMs");
});

test("flags and environment reach their settings", () => {
  const options = read(
    [
      "--configDir",
      "mesh",
      "--grpcAddr=",
      "--secureGRPCAddr",
      "[::1]:1",
      "--tls-min-version=1.3",
      "--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
      "--clusterAliases",
      "a=b,c=d",
    ],
    {
      PILOT_DEBOUNCE_AFTER: "1s",
      PILOT_MAX_REQUESTS_PER_SECOND: "25",
      PILOT_XDS_SEND_TIMEOUT: "5s",
      XDS_AUTH_PLAINTEXT: "true",
      CLUSTER_ID: "east",
      POD_NAMESPACE: "mesh",
      ISTIOD_CUSTOM_HOST: "a.example, b.example",
      JWT_RULE: '{"issuer":"https://x","jwks":"{}"}',
      TRUSTED_GATEWAY_CIDR: "10.0.0.0/8, fd00::/8",
    },
  );
  expect(options).toMatchObject({
    configDir: "mesh",
    ports: { secureGrpc: { host: "::1", port: 1 } },
    sharesHttpPort: true,
    tlsMinVersion: "TLSv1.3",
    tlsCiphers: expect.stringMatching(/:AES128-SHA:ECDHE-RSA-AES128-GCM-SHA256$/),
    push: { debounceAfterMs: 1000 },
    limits: { streamsPerSecond: 25, sendTimeoutMs: 5000 },
    auth: { requiresPlaintextIdentity: true },
    clusterId: "east",
    systemNamespace: "mesh",
    hosts: ["a.example", "b.example"],
    jwtRules: [{ issuer: "https://x" }],
    trustedGateways: ["10.0.0.0/8", "fd00::/8"],
  });
  expect(options.ports).not.toHaveProperty("grpc");
  expect([...(options.clusterAliases ?? [])]).toEqual([
    ["a", "b"],
    ["c", "d"],
  ]);
});

test("the root's key, life and renewal are those of the environment, and so is the CA that is copied", () => {
  expect(read().ca?.selfSigned).toEqual({
    key: { type: "ecdsa", curve: "P256" },
    lifetimeMs: 87_600 * 3_600_000,
    checkIntervalMs: 3_600_000,
    gracePercent: 20,
    spreadsChecks: true,
  });
  const { ca, kubernetes } = read(["--registries", "Kubernetes"], {
    CITADEL_SELF_SIGNED_CA_RSA_KEY_SIZE: "3072",
    CITADEL_SELF_SIGNED_CA_CERT_TTL: "48h",
    CITADEL_SELF_SIGNED_ROOT_CERT_CHECK_INTERVAL: "30m",
    CITADEL_SELF_SIGNED_ROOT_CERT_GRACE_PERIOD_PERCENTILE: "50",
    CITADEL_ENABLE_JITTER_FOR_ROOT_CERT_ROTATOR: "false",
    USE_REMOTE_CERTS: "true",
  });
  expect(ca?.selfSigned).toEqual({
    key: { type: "rsa", bits: 3072 },
    lifetimeMs: 48 * 3_600_000,
    checkIntervalMs: 1_800_000,
    gracePercent: 50,
    spreadsChecks: false,
  });
  expect(kubernetes?.identity?.copiesCa).toBe(true);
});

test.each([
  { env: { TOKEN_ISSUER: "https://i" }, rules: [{ issuer: "https://i", audiences: ["istio-ca"] }] },
  { env: { TOKEN_ISSUER: "https://i", AUDIENCE: "a" }, rules: [{ issuer: "https://i", audiences: ["a"] }] },
  { env: { TOKEN_ISSUER: "https://i", KUBERNETES_SERVICE_HOST: "10.96.0.1" }, rules: [] },
])("with $env tokens are believed by $rules", ({ env, rules }) => {
  expect(read([], env).jwtRules).toEqual(rules);
});

test("Consul is reached as the variables of its own commands say, and a flag beats the address", () => {
  const environment = {
    CONSUL_HTTP_ADDR: "consul.example:8501",
    CONSUL_HTTP_SSL: "true",
    CONSUL_HTTP_TOKEN_FILE: "token",
    CONSUL_CACERT: "ca.crt",
    CONSUL_CLIENT_CERT: "c.crt",
    CONSUL_CLIENT_KEY: "c.key",
    CONSUL_TLS_SERVER_NAME: "server.dc1.consul",
    CONSUL_NAMESPACE: "team",
  };
  const consul = (environment: Readonly<Record<string, string>>, ...words: readonly string[]) =>
    read(["--registries", "Consul", ...words], environment).consul;
  expect(consul(environment, "--consulDatacenters", "dc1,dc2")).toMatchObject({
    url: "https://consul.example:8501",
    tokenFile: "token",
    tlsFiles: { ca: "ca.crt", certificate: "c.crt", key: "c.key" },
    serverName: "server.dc1.consul",
    namespace: "team",
    datacenters: ["dc1", "dc2"],
  });
  expect(consul(environment, "--consulserverURL", "http://other:8500")?.url).toBe("http://other:8500");
  expect(() => consul({ CONSUL_CLIENT_CERT: "c.crt" })).toThrow("CONSUL_CLIENT_CERT and CONSUL_CLIENT_KEY belong");
});

test("without a serving certificate there is no TLS port", () => {
  expect(read([], { PILOT_CERT_PROVIDER: "none" }).ports).not.toHaveProperty("secureGrpc");
});

describe("what cannot be used is said with what is allowed", () => {
  test.each([
    { words: ["--grpcAddr", "15010"], says: '--grpcAddr is "15010", expected HOST:PORT' },
    { words: ["--httpAddr", ":99999"], says: '--httpAddr is ":99999"' },
    { words: ["--tls-min-version", "1.1"], says: '--tls-min-version is "1.1", allowed are 1.2 and 1.3' },
    { words: ["--tls-cipher-suites", "RC4"], says: '--tls-cipher-suites has "RC4", allowed are TLS_AES_128' },
    { words: ["--registries", "Consul", "--consulserverURL", "ftp://c"], says: '"ftp://c", expected http://HOST:PORT' },
    { words: ["--registries", "Mock"], says: "service registry Mock is not supported" },
    {
      words: ["--registries=Zookeeper"],
      says: 'Zookeeper is not supported: --registries allows Kubernetes, Consul and none ("--registries=")',
    },
    { words: ["--clusterAliases", "a"], says: '--clusterAliases has "a", expected alias=id' },
    { words: ["--clusterAliases", "a=x,b=x"], says: "More than one cluster alias for cluster id: x" },
    { words: ["--tlsCertFile", "c"], says: "give all three or none" },
    { words: ["--keepaliveMaxServerConnectionAge", "-1s"], says: "is -1s, only accepts positive duration eg: 30m" },
  ])("$words: $says", ({ words, says }) => {
    expect(() => read(words)).toThrow(says);
  });

  test.each([
    { words: [], kubeconfig: undefined },
    { words: ["--registries", "Kubernetes"], kubeconfig: "" },
    { words: ["--kubeconfig", "file"], kubeconfig: "file" },
    { words: ["--registries", "Kubernetes,Consul", "--kubeconfig", "file"], kubeconfig: "file" },
  ])("$words reads the cluster of kubeconfig $kubeconfig", ({ words, kubeconfig }) => {
    expect(read(words).kubernetes?.kubeconfig).toBe(kubeconfig);
  });

  test("no registry is not a mistake", () => {
    expect(() => read(["--registries="])).not.toThrow();
  });
});

test.each([
  { text: "", port: undefined },
  { text: ":1", port: { host: "", port: 1 } },
  { text: "a.example:80", port: { host: "a.example", port: 80 } },
  { text: "[fd00::1]:80", port: { host: "fd00::1", port: 80 } },
])("$text is $port", ({ text, port }) => {
  expect(parsePort("httpAddr", text)).toEqual(port);
});
