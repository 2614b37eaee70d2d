import { describe, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { defaultProxyConfig } from "../istio-api/proxy-config/default-proxy-config.ts";
import { createEnvReader, type Environment } from "./env-reader.ts";
import { type Generation, generationRules } from "./generations.ts";
import { readIdentitySettings } from "./identity.ts";
import { defaultProxyFlags, type ProxyFlags } from "./proxy-flags.ts";
import { caRootCa, systemRootCa, xdsRootCa } from "./root-ca.ts";

import { readStsSettings } from "./sts.ts";
import { GKE_WORKLOAD_CERTS, MOUNTED_CERTS, WORKLOAD_CERTS } from "./well-known-paths.ts";

function read(
  env: Environment,
  generation: Generation = "master",
  present: readonly string[] = [],
  flags: Partial<ProxyFlags> = { tokenManagerPlugin: "GoogleTokenExchange" },
) {
  const rules = generationRules(generation);
  const log = recordLog();
  const lines = log.printed;
  const sources = {
    env: createEnvReader(env, generation, () => undefined),
    flags: { ...defaultProxyFlags(rules), stsPort: 15463, ...flags },
    rules,
    proxyConfig: defaultProxyConfig(rules),
    exists: (path: string) => present.includes(path),
    log,
  };
  const config = readIdentitySettings(sources);
  const sts = readStsSettings({ ...sources, role: { isIpv6: false }, tokens: config.tokens });
  return { config, sts, lines };
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
    expect(config.tokens.tokenPath).toBe(path);
    expect(lines).toEqual(logs);
  });

  test.each([
    { type: "JWT", generation: "master", gives: { type: "JWT", tokenPath: TOKEN, identityProvider: "" } },
    { type: "", generation: "master", gives: { type: "JWT", tokenPath: TOKEN } },
    { type: "Mock", generation: "master", gives: { type: "Mock" } },
    {
      type: "GoogleComputeEngine",
      generation: "master",
      gives: {
        type: "GoogleComputeEngine",
        tokenPath: TOKEN,
        trustDomain: "cluster.local",
        identityProvider: "GoogleComputeEngine",
      },
    },
  ] as const)("$generation fetcher $type", ({ type, generation, gives }) => {
    expect(read({ CREDENTIAL_FETCHER_TYPE: type }, generation).config.tokens).toMatchObject(gives);
  });

  test("a generation without fetchers reads the file without announcing one", () => {
    const { config, lines } = read({}, "1.7");
    expect(config.tokens).toMatchObject({ type: "JWT", tokenPath: TOKEN });
    expect(lines).not.toContain(FETCHER);
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
  const client = (options: object) => ({ ca: { options } });
  test.each([
    {
      env: { ISTIOD_SAN: "san" },
      generation: "master",
      gives: client({ endpoint: "istiod.istio-system.svc:15012", serverName: "san" }),
    },
    {
      env: { ISTIOD_SAN: "san", CA_ADDR: "ca:1" },
      generation: "master",
      gives: client({ endpoint: "ca:1", serverName: undefined }),
    },
    { env: { CA_ADDR: "ca:1" }, generation: "1.7", gives: client({ endpoint: "ca:1", serverName: undefined }) },
    { env: { CA_ADDR: "meshca.googleapis.com:443" }, generation: "master", gives: { ca: { provider: "GoogleCA" } } },
    { env: { CA_PROVIDER: "Other" }, generation: "master", gives: { ca: { provider: "Other", exchange: undefined } } },
    { env: { CA_PROVIDER: "GoogleCAS" }, generation: "1.20", gives: { ca: { exchange: expect.anything() } } },
    { env: { PLUGINS: "GoogleTokenExchange" }, generation: "1.7", gives: { ca: { exchange: expect.anything() } } },
    { env: { PLUGINS: "GoogleTokenExchange" }, generation: "master", gives: { ca: { exchange: undefined } } },
    {
      env: { CA_HEADER_FOO: "foo", CA_HEADER_BAZ: "=baz", XDS_HEADER_BAR: "x" },
      generation: "master",
      gives: client({ headers: { FOO: "foo", BAZ: "=baz" } }),
    },
    { env: { PROV_CERT: "/vm" }, generation: "master", gives: { ca: { missingMachineRoot: "/vm/root-cert.pem" } } },
    {
      env: { PROV_CERT: "/vm", CA_ROOT_CA: "/r" },
      generation: "master",
      gives: { ca: { missingMachineRoot: undefined } },
    },
    { env: { CA_ADDR: "ca:15010" }, generation: "master", gives: { ca: { root: { path: "" } } } },
    {
      env: { KUBERNETES_SERVICE_HOST: "10.0.0.1", OUTPUT_CERTS: "/out" },
      generation: "master",
      gives: { secrets: { output: { directory: "/out", readableByAll: true } } },
    },
    {
      env: { OUTPUT_CERTS: "/out" },
      generation: "master",
      gives: { secrets: { output: { directory: "/out", readableByAll: false } } },
    },
    {
      env: {},
      generation: "master",
      gives: {
        secrets: {
          output: undefined,
          ttlSeconds: 86_400,
          renewal: { ratio: 0.5, jitter: 0.01 },
          key: { type: "rsa", bits: 2048 },
          crlPath: "./var/run/secrets/istio/crl/ca-crl.pem",
        },
      },
    },
    { env: {}, generation: "1.20", gives: { secrets: { renewal: { jitter: 0 }, crlPath: undefined } } },
  ] as const)("$generation with $env", ({ env, generation, gives }) => {
    expect(read(env, generation).config).toMatchObject(gives);
  });

  test.each([
    { generation: "1.20", gives: true },
    { generation: "master", gives: false },
  ] as const)("PILOT_CERT_PROVIDER=kubernetes of $generation takes the cluster's roots: $gives", (row) => {
    const { config } = read({ PILOT_CERT_PROVIDER: "kubernetes" }, row.generation);
    expect(config.sources.usesKubernetesRoots).toBe(row.gives);
  });

  test("the token server's port and plug-in come from the flags", () => {
    expect(read({}, "1.20").sts).toMatchObject({ port: 15463, plugin: "GoogleTokenExchange", requiresProject: true });
    expect(read({}, "master", [], { stsPort: 0 }).sts).toBeUndefined();
    expect(read({ XDS_AUTH_PROVIDER: "gcp" }, "1.20", [], { stsPort: 0 }).sts).toMatchObject({ port: 0 });
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
    expect(read({ PROV_CERT: "/certs" }).config).toMatchObject({
      sources: { provCert: "/certs" },
      certificates: "issued",
    });
    expect(read({ FILE_MOUNTED_CERTS: "true" }).config).toMatchObject({
      certificates: "mounted",
      secrets: { existing: { certificateChain: MOUNTED_CERTS.chain } },
    });
  });

  test("GKE workload certificates need all three files", () => {
    const env = { CA_PROVIDER: "GkeWorkloadCertificate" };
    expect(read(env, "master", all).config).toMatchObject({
      certificates: "mounted",
      secrets: { existing: { certificateChain: GKE_WORKLOAD_CERTS.chain } },
    });
    expect(() => read(env, "master", all.slice(1))).toThrow(
      /^GKE workload certificate files \(.*certificates.pem, .*private_key.pem, .*ca_certificates.pem\) not present$/,
    );
    expect(() => read({ ...env, PROV_CERT: "/x" }, "master", all)).toThrow(/mutually exclusive/);
  });

  test("files that another agent wrote for the workload are used instead of a CA", () => {
    const { config } = read({}, "master", Object.values(WORKLOAD_CERTS));
    expect(config).toMatchObject({
      certificates: "detected",
      secrets: { existing: { certificateChain: WORKLOAD_CERTS.chain } },
    });
  });

  test("all contradictions are reported at once", () => {
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
  expect(config.workload.trustDomain).toBe(trustDomain);
});

describe("root certificates", () => {
  const istiod = "var/run/secrets/istio/root-cert.pem";
  const plain = {
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
    const sources = { configured, sources: { ...plain, ...security }, proxyMetadata: metadata ?? {} };
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
    { configured: "", provider: "GoogleCA", present: [istiod], gives: { path: "" } },
    { configured: "/r.pem", provider: "GoogleCAS", present: ["/r.pem"], gives: { path: "/r.pem" } },
  ])(
    "CA: $configured $provider $security $present",
    ({ configured, provider = "Citadel", security, present, gives }) => {
      const sources = { configured, provider, sources: { ...plain, ...security } };
      expect(caRootCa(sources, (path) => (present as readonly string[]).includes(path))).toEqual(gives);
    },
  );

  test("a system without a bundle has none", () => expect(systemRootCa(() => false)).toBeUndefined());
});

test.each([
  { generation: "1.7", CA_ADDR: "", policy: "MUTUAL_TLS", at: "istiod.istio-system.svc:15010", root: { path: "" } },
  {
    generation: "1.7",
    CA_ADDR: "ca:15012",
    policy: "MUTUAL_TLS",
    at: "ca:15012",
    root: { problem: "invalid config - port 15012 missing a root certificate", isFatal: true },
  },
  { generation: "1.7", CA_ADDR: "ca:15012", policy: "NONE", at: "ca:15012", root: { path: "" } },
  { generation: "1.8", CA_ADDR: "ca:15012", policy: "NONE", at: "ca:15012", root: { isFatal: false } },
  { generation: "master", CA_ADDR: "ca:15012", policy: "NONE", at: "ca:15012", root: { isFatal: false } },
] as const)("without the CA's root, $generation with CA_ADDR=$CA_ADDR and $policy asks $at with $root", (row) => {
  const rules = generationRules(row.generation);
  const { ca } = readIdentitySettings({
    env: createEnvReader({ CA_ADDR: row.CA_ADDR }, row.generation, () => undefined),
    flags: defaultProxyFlags(rules),
    rules,
    proxyConfig: { ...defaultProxyConfig(rules), controlPlaneAuthPolicy: row.policy },
    exists: () => false,
    log: recordLog(),
  });
  expect(ca.options.endpoint).toBe(row.at);
  expect(ca.root).toMatchObject(row.root);
});
