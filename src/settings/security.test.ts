import { describe, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { defaultProxyConfig } from "../istio-api/proxy-config/default-proxy-config.ts";
import { createEnvReader, type Environment } from "./env-reader.ts";
import { type Generation, generationRules } from "./generations.ts";
import { defaultProxyFlags, type ProxyFlags } from "./proxy-flags.ts";
import { caRootCa, systemRootCa, xdsRootCa } from "./root-ca.ts";
import { readSecurityConfig } from "./security.ts";
import { GKE_WORKLOAD_CERTS, MOUNTED_CERTS } from "./well-known-paths.ts";

function read(
  env: Environment,
  generation: Generation = "master",
  present: readonly string[] = [],
  flags: Partial<ProxyFlags> = { tokenManagerPlugin: "GoogleTokenExchange" },
) {
  const rules = generationRules(generation);
  const log = recordLog();
  const lines = log.printed;
  const config = readSecurityConfig({
    env: createEnvReader(env, generation, () => undefined),
    flags: { ...defaultProxyFlags(rules), stsPort: 15463, ...flags },
    rules,
    proxyConfig: defaultProxyConfig(rules),
    exists: (path) => present.includes(path),
    log,
  });
  return { config, lines };
}

const TOKEN = "./var/run/secrets/tokens/istio-token";
const FETCHER = "info using credential fetcher of JWT type in cluster.local trust domain";

describe("tokens", () => {
  test.each([
    { env: {}, generation: "master", path: TOKEN, logs: ["info JWT policy is third-party-jwt", FETCHER] },
    {
      env: { JWT_POLICY: "first-party-jwt" },
      generation: "master",
      path: TOKEN,
      logs: ["warn Using deprecated JWT policy 'first-party-jwt'; treating as 'third-party-jwt'", FETCHER],
    },
    {
      env: { JWT_POLICY: "first-party-jwt" },
      generation: "1.20",
      path: "/var/run/secrets/kubernetes.io/serviceaccount/token",
      logs: [FETCHER],
    },
    { env: { JWT_POLICY: "x" }, generation: "master", path: TOKEN, logs: ["info Using existing certs", FETCHER] },
    { env: { JWT_POLICY: "x" }, generation: "1.20", path: "", logs: ["info Using existing certs"] },
    { env: { JWT_POLICY: "" }, generation: "1.7", path: "", logs: ["info Using existing certs"] },
  ] as const)("$generation with $env reads $path", ({ env, generation, path, logs }) => {
    const { config, lines } = read(env, generation);
    expect(config.tokenPath).toBe(path);
    expect(lines).toEqual(logs);
  });

  test.each([
    { type: "JWT", generation: "master", gives: { type: "file", path: TOKEN } },
    { type: "", generation: "master", gives: { type: "file", path: TOKEN } },
    { type: "Mock", generation: "master", gives: { type: "mock" } },
    {
      type: "GoogleComputeEngine",
      generation: "master",
      gives: {
        type: "google-compute-engine",
        path: TOKEN,
        audience: "cluster.local",
        identityProvider: "GoogleComputeEngine",
      },
    },
    { type: "", generation: "1.7", gives: { type: "none" } },
  ] as const)("$generation fetcher $type", ({ type, generation, gives }) => {
    expect(read({ CREDENTIAL_FETCHER_TYPE: type }, generation).config.credentialFetcher).toEqual(gives);
  });

  test("an unknown fetcher stops the start and says what is allowed", () => {
    expect(() => read({ CREDENTIAL_FETCHER_TYPE: "X" })).toThrow(
      expect.objectContaining({
        code: "invalid-security-options",
        message: "failed to create credential fetcher: invalid credential fetcher type X",
        problems: [expect.objectContaining({ value: "X", allowed: "JWT, GoogleComputeEngine, Mock or empty" })],
      }),
    );
  });
});

describe("certificate authority", () => {
  test.each([
    {
      env: { ISTIOD_SAN: "san" },
      generation: "master",
      gives: { caEndpoint: "istiod.istio-system.svc:15012", caServerName: "san" },
    },
    {
      env: { ISTIOD_SAN: "san", CA_ADDR: "ca:1" },
      generation: "master",
      gives: { caEndpoint: "ca:1", caServerName: "" },
    },
    { env: {}, generation: "1.7", gives: { caEndpoint: "istiod.istio-system.svc:15012", caServerName: "" } },
    { env: { CA_ADDR: "meshca.googleapis.com:443" }, generation: "master", gives: { caProvider: "GoogleCA" } },
    { env: { CA_PROVIDER: "Other" }, generation: "master", gives: { caProvider: "Other", exchangesCaTokens: false } },
    { env: { CA_PROVIDER: "GoogleCAS" }, generation: "1.20", gives: { exchangesCaTokens: true } },
    { env: { PLUGINS: "GoogleTokenExchange" }, generation: "1.7", gives: { exchangesCaTokens: true } },
    { env: { PLUGINS: "GoogleTokenExchange" }, generation: "master", gives: { exchangesCaTokens: false } },
    { env: { PILOT_CERT_PROVIDER: "kubernetes" }, generation: "1.20", gives: { usesKubernetesRoots: true } },
    { env: { PILOT_CERT_PROVIDER: "kubernetes" }, generation: "master", gives: { usesKubernetesRoots: false } },
    {
      env: { CA_HEADER_FOO: "foo", CA_HEADER_BAZ: "=baz", XDS_HEADER_BAR: "x" },
      generation: "master",
      gives: { caHeaders: { FOO: "foo", BAZ: "=baz" } },
    },
    { env: { KUBERNETES_SERVICE_HOST: "10.0.0.1" }, generation: "master", gives: { outputMode: 0o644 } },
    {
      env: {},
      generation: "master",
      gives: {
        outputMode: 0o600,
        secretTtlMs: 86_400_000,
        gracePeriodRatio: 0.5,
        gracePeriodJitter: 0.01,
        key: { type: "rsa", bits: 2048 },
        socketFile: "socket",
        serveCrl: true,
        stsPort: 15463,
      },
    },
    {
      env: {},
      generation: "1.20",
      gives: { gracePeriodJitter: 0, serveCrl: false, stsPort: 15463, tokenManagerPlugin: "GoogleTokenExchange" },
    },
    { env: { CALL_CREDENTIALS: "true" }, generation: "1.8", gives: { callCredentials: true } },
    { env: { CALL_CREDENTIALS: "true" }, generation: "master", gives: { callCredentials: false } },
  ] as const)("$generation with $env", ({ env, generation, gives }) => {
    expect(read(env, generation).config).toMatchObject(gives);
  });

  test("an unknown compliance policy warns", () => {
    expect(read({ COMPLIANCE_POLICY: "x" }).lines).toContain('warn unknown compliance policy: "x"');
    expect(read({ COMPLIANCE_POLICY: "pqc" }).lines.join()).not.toContain("compliance");
  });
});

describe("certificate files", () => {
  const all = Object.values(GKE_WORKLOAD_CERTS);

  test("PROV_CERT and FILE_MOUNTED_CERTS exclude each other", () => {
    expect(() => read({ PROV_CERT: "/certs", FILE_MOUNTED_CERTS: "true" })).toThrow(
      expect.objectContaining({ message: "invalid options: PROV_CERT and FILE_MOUNTED_CERTS are mutually exclusive" }),
    );
    expect(read({ PROV_CERT: "/certs" }).config).toMatchObject({ provCert: "/certs", fileMountedCerts: false });
    expect(read({ FILE_MOUNTED_CERTS: "true" }).config).toMatchObject({
      fileMountedCerts: true,
      certificateFiles: MOUNTED_CERTS,
    });
  });

  test("GKE workload certificates need all three files", () => {
    const env = { CA_PROVIDER: "GkeWorkloadCertificate" };
    expect(read(env, "master", all).config).toMatchObject({
      fileMountedCerts: true,
      certificateFiles: GKE_WORKLOAD_CERTS,
    });
    expect(() => read(env, "master", all.slice(1))).toThrow(
      /^GKE workload certificate files \(.*certificates.pem, .*private_key.pem, .*ca_certificates.pem\) not present$/,
    );
    expect(() => read({ ...env, PROV_CERT: "/x" }, "master", all)).toThrow(/mutually exclusive/);
  });

  test("all contradictions are told at once", () => {
    expect(() => read({ PROV_CERT: "/x", FILE_MOUNTED_CERTS: "1", CREDENTIAL_FETCHER_TYPE: "X" })).toThrow(
      expect.objectContaining({ problems: [expect.anything(), expect.anything()] }),
    );
  });
});

test("a token exchange plug-in that is unknown is named", () => {
  expect(read({ PLUGINS: "Other,GoogleTokenExchange" }, "1.7").lines).toContain(
    "warn PLUGINS: Other has no effect, allowed is GoogleTokenExchange",
  );
});

test("a token port without a plug-in is warned about, where the plug-in has no default", () => {
  const warned = (generation: Generation) => read({}, generation, [], {}).lines.join().includes("--tokenManagerPlugin");
  expect([warned("master"), warned("1.20")]).toEqual([true, false]);
});

test.each([
  { generation: "1.7", trustDomain: "td" },
  { generation: "master", trustDomain: "cluster.local" },
] as const)("--trust-domain names the trust domain of $generation: $trustDomain", ({ generation, trustDomain }) => {
  const { config } = read({ TRUST_DOMAIN: "cluster.local" }, generation, [], { trustDomain: "td" });
  expect(config.trustDomain).toBe(trustDomain);
});

describe("root certificates", () => {
  const istiod = "var/run/secrets/istio/root-cert.pem";
  const plain = {
    caProvider: "Citadel",
    provCert: "",
    fileMountedCerts: false,
    pilotCertProvider: "istiod",
    usesKubernetesRoots: false,
  };
  const serviceAccount = "./var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
  const copied = "./var/run/secrets/istio/kubernetes/ca.crt";

  test.each([
    {
      configured: "SYSTEM",
      present: ["/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem"],
      gives: { path: "/etc/ssl/ca-bundle.pem" },
    },
    { configured: "SYSTEM", present: [], gives: { path: "" } },
    { configured: "/r.pem", present: ["/r.pem"], gives: { path: "/r.pem" } },
    { configured: "/r.pem", present: [], gives: { problem: "root CA file for XDS does not exist /r.pem" } },
    { configured: "", present: [MOUNTED_CERTS.root, istiod], gives: { path: MOUNTED_CERTS.root } },
    { configured: "", security: { provCert: "/vm" }, present: [], gives: { path: "/vm/root-cert.pem" } },
    {
      configured: "",
      security: { fileMountedCerts: true },
      metadata: { ISTIO_META_TLS_CLIENT_ROOT_CERT: "/c" },
      present: ["/c"],
      gives: { path: "/c" },
    },
    {
      configured: "",
      security: { fileMountedCerts: true },
      present: [],
      gives: { problem: "root CA file for XDS does not exist " },
    },
    {
      configured: "",
      security: { pilotCertProvider: "none" },
      present: [istiod],
      gives: { problem: "root CA file for XDS required but configured provider as none" },
    },
    { configured: "", security: { pilotCertProvider: "kubernetes" }, present: [istiod], gives: { path: istiod } },
    { configured: "", present: [], gives: { problem: `root CA file for XDS does not exist ${istiod}` } },
    {
      configured: "",
      security: { usesKubernetesRoots: true },
      present: [serviceAccount],
      gives: { path: serviceAccount },
    },
    {
      configured: "",
      security: { usesKubernetesRoots: true },
      present: [copied, serviceAccount],
      gives: { path: copied },
    },
  ])("XDS: $configured $security $present", ({ configured, security, metadata, present, gives }) => {
    const sources = { configured, security: { ...plain, ...security }, proxyMetadata: metadata ?? {} };
    expect(xdsRootCa(sources, (path) => (present as readonly string[]).includes(path))).toEqual(gives);
  });

  test.each([
    { configured: "SYSTEM", present: ["/etc/ssl/cert.pem"], gives: { path: "/etc/ssl/cert.pem" } },
    { configured: "/r.pem", present: ["/r.pem"], gives: { path: "/r.pem" } },
    {
      configured: "",
      security: { pilotCertProvider: "custom" },
      present: [MOUNTED_CERTS.root],
      gives: { path: MOUNTED_CERTS.root },
    },
    {
      configured: "",
      security: { pilotCertProvider: "custom" },
      present: [],
      gives: { problem: "root CA file for CA does not exist ./etc/certs/root-cert.pem" },
    },
    {
      configured: "",
      security: { provCert: "/vm" },
      present: ["/vm/root-cert.pem"],
      gives: { path: "/vm/root-cert.pem" },
    },
    {
      configured: "",
      security: { pilotCertProvider: "none" },
      present: [],
      gives: { problem: "root CA file for CA required but configured provider as none" },
    },
    { configured: "", present: [MOUNTED_CERTS.root, istiod], gives: { path: istiod } },
    {
      configured: "",
      security: { usesKubernetesRoots: true },
      present: [serviceAccount],
      gives: { path: serviceAccount },
    },
    {
      configured: "",
      security: { usesKubernetesRoots: true },
      present: [istiod],
      gives: { problem: `root CA file for CA does not exist ${serviceAccount}` },
    },
    { configured: "", security: { caProvider: "GoogleCA" }, present: [istiod], gives: { path: "" } },
    { configured: "/r.pem", security: { caProvider: "GoogleCAS" }, present: ["/r.pem"], gives: { path: "/r.pem" } },
  ])("CA: $configured $security $present", ({ configured, security, present, gives }) => {
    const sources = { configured, security: { ...plain, ...security } };
    expect(caRootCa(sources, (path) => (present as readonly string[]).includes(path))).toEqual(gives);
  });

  test("a system without a bundle has none", () => expect(systemRootCa(() => false)).toBeUndefined());
});
