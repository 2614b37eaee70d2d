import { execFile } from "node:child_process";
import { createPublicKey, X509Certificate } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parseCsr } from "../src/protocol/x509/csr.ts";
import { type AgentProcess, freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { type FakeCa, startFakeCa } from "../test/support/certs/fake-ca.ts";
import { createWorkFolder } from "../test/support/envoy/life.ts";
import { needs } from "../test/support/needs.ts";
import { connectSds, decodeSecrets, node, SECRET_TYPE } from "../test/support/sds/client.ts";
import { startFakeGoogle } from "../test/support/sts/google-endpoints.ts";
import { until } from "../test/support/wait/until.ts";
import { type MeshControlPlane, startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";

let controlPlane: MeshControlPlane;
let ca: FakeCa;
beforeAll(async () => {
  controlPlane = await startMeshControlPlane({ resources: () => [] });
  ca = await startFakeCa();
});
afterAll(async () => {
  await ca.stop();
  await controlPlane[Symbol.asyncDispose]();
});
beforeEach(needs("envoy"));

const caEnv = () => ({ CA_ADDR: ca.endpoint, CA_ROOT_CA: ca.rootFile });
const read = (agent: AgentProcess, path: string) => readFileSync(join(agent.folder, path), "utf8");

async function untilWritten(agent: AgentProcess, folder = "out"): Promise<void> {
  // Their names appear one after the other when the directory is new.
  const missing = () =>
    ["key.pem", "cert-chain.pem", "root-cert.pem"].find((name) => !existsSync(join(agent.folder, folder, name)));
  await until(async () => (missing() === undefined ? undefined : `no ${missing()} yet`));
}

async function askSds(agent: AgentProcess, name: string) {
  await using client = connectSds(join(agent.folder, "var/run/secrets/workload-spiffe-uds/socket"));
  const stream = client.stream();
  stream.send({ node: node(), type_url: SECRET_TYPE, resource_names: [name] });
  const [secret] = decodeSecrets(await stream.next());
  stream.cancel();
  return secret;
}

describe("keys, requests and headers", () => {
  beforeEach(needs("openssl"));

  test.each([
    { env: { ECC_SIGNATURE_ALGORITHM: "" }, pem: "RSA PRIVATE KEY", text: "Private-Key: (2048 bit" },
    { env: { ECC_SIGNATURE_ALGORITHM: "", WORKLOAD_RSA_KEY_SIZE: "3072" }, pem: "RSA PRIVATE KEY", text: "(3072 bit" },
    { env: { ECC_SIGNATURE_ALGORITHM: "", PKCS8_KEY: "true" }, pem: "PRIVATE KEY", text: "Private-Key: (2048 bit" },
    { env: {}, pem: "EC PRIVATE KEY", text: "NIST CURVE: P-256" },
    { env: { ECC_CURVE: "P384" }, pem: "EC PRIVATE KEY", text: "NIST CURVE: P-384" },
    { env: { PKCS8_KEY: "true" }, pem: "PRIVATE KEY", text: "NIST CURVE: P-256" },
  ])("$env gives a key that openssl reads as $text", async ({ env, pem, text }) => {
    await using agent = await startAgentProcess({
      controlPlane,
      env: {
        ...caEnv(),
        OUTPUT_CERTS: "out",
        DISABLE_ENVOY: "true",
        SECRET_TTL: "1h30m500ms",
        CA_HEADER_X_Team: "=a=b",
        ...env,
      },
    });
    await untilWritten(agent);
    const key = read(agent, "out/key.pem");
    expect(key).toMatch(new RegExp(`^-----BEGIN ${pem}-----`));
    const run = promisify(execFile);
    expect(
      (await run("openssl", ["pkey", "-in", join(agent.folder, "out/key.pem"), "-noout", "-text"])).stdout,
    ).toContain(text);
    const leaf = new X509Certificate(read(agent, "out/cert-chain.pem"));
    expect(leaf.publicKey.equals(createPublicKey(key))).toBe(true);
    expect(leaf.subjectAltName).toBe("URI:spiffe://cluster.local/ns/ns/sa/app");
    const call = ca.calls.at(-1);
    expect(call).toMatchObject({ ttlSeconds: 5400, metadata: { x_team: "=a=b", clusterid: "" } });
    expect(call?.metadata.authorization).toMatch(/^Bearer /);
  });

  test("a key that is too small, or of an unknown kind, is reported as the reason", async () => {
    for (const [env, says] of [
      [
        { ECC_SIGNATURE_ALGORITHM: "", WORKLOAD_RSA_KEY_SIZE: "1024" },
        "does not meet the minimum required size of 2048 (requested: 1024)",
      ],
      [{ ECC_SIGNATURE_ALGORITHM: "ecdsa" }, "unsupported EC signature algorithm"],
    ] as const) {
      await using agent = await startAgentProcess({ controlPlane, env: { ...caEnv(), ...env } });
      await until(async () => (agent.stdout().includes(says) ? undefined : "not reported"));
      await until(async () => ((await agent.envoyPids()).length === 1 ? undefined : "no Envoy"));
    }
  });
});

describe("certificates from files", () => {
  const folders = [
    { what: "./etc/certs", names: ["cert-chain.pem", "key.pem", "root-cert.pem"], folder: "etc/certs", env: {} },
    {
      what: "FILE_MOUNTED_CERTS",
      names: ["cert-chain.pem", "key.pem", "root-cert.pem"],
      folder: "etc/certs",
      env: { FILE_MOUNTED_CERTS: "true" },
    },
    {
      what: "workload-spiffe-credentials",
      names: ["cert-chain.pem", "key.pem", "root-cert.pem"],
      folder: "var/run/secrets/workload-spiffe-credentials",
      env: {},
    },
    {
      what: "GKE",
      names: ["certificates.pem", "private_key.pem", "ca_certificates.pem"],
      folder: "var/run/secrets/workload-spiffe-credentials",
      env: { CA_PROVIDER: "GkeWorkloadCertificate" },
    },
  ];

  test.each(folders)("$what: served without a CA", async ({ names, folder, env }) => {
    const { keyPem, chainPem } = await ca.issue("spiffe://cluster.local/ns/ns/sa/mounted");
    const contents = [chainPem, keyPem, ca.rootPem];
    const before = ca.calls.length;
    await using agent = await startAgentProcess({
      controlPlane,
      files: Object.fromEntries(names.map((name, index) => [`${folder}/${name}`, contents[index] ?? ""])),
      env: { ...caEnv(), XDS_ROOT_CA: controlPlane.rootFile, ...env },
    });
    await agent.untilReady();
    const secret = await askSds(agent, "default");
    expect(String(secret?.tls_certificate?.certificate_chain.inline_bytes)).toBe(chainPem);
    expect(String(secret?.tls_certificate?.private_key?.inline_bytes)).toBe(keyPem);
    const root = await askSds(agent, "ROOTCA");
    expect(String(root?.validation_context?.trusted_ca.inline_bytes).trim()).toBe(ca.rootPem.trim());
    // A plain ./etc/certs keeps a CA in reserve, but must not ask it for what is served.
    if (Object.keys(env).length > 0 || folder !== "etc/certs") expect(ca.calls.length).toBe(before);
    expect(`${agent.stdout()}${agent.stderr()}`).not.toContain("PRIVATE KEY");
  });

  test("workload-spiffe-credentials need no other root for xDS than the usual one", async () => {
    const { keyPem, chainPem } = await ca.issue("spiffe://cluster.local/ns/ns/sa/mounted");
    const folder = "var/run/secrets/workload-spiffe-credentials";
    await using agent = await startAgentProcess({
      controlPlane,
      files: {
        [`${folder}/cert-chain.pem`]: chainPem,
        [`${folder}/key.pem`]: keyPem,
        [`${folder}/root-cert.pem`]: ca.rootPem,
      },
    });
    await agent.untilReady();
  });

  test("PROV_CERT without its root certificate ends the start with code 1 and says which file is missing", async () => {
    await using agent = await startAgentProcess({ controlPlane, env: { PROV_CERT: "prov" } });
    expect(await agent.exited).toBe(1);
    expect(agent.stdout()).toMatch(/\tfatal\t.*invalid config - \S+ missing a root certificate prov\/root-cert\.pem/);
  });

  test("PROV_CERT and FILE_MOUNTED_CERTS together end the start", async () => {
    await using agent = await startAgentProcess({ controlPlane, env: { PROV_CERT: "x", FILE_MOUNTED_CERTS: "true" } });
    expect(await agent.exited).toBe(255);
    expect(agent.stderr()).toContain("PROV_CERT and FILE_MOUNTED_CERTS are mutually exclusive");
  });
});

test("a machine that got its first certificate by token goes on without one", async () => {
  using work = createWorkFolder();
  const directory = work.folder;
  const options = { OUTPUT_CERTS: "out", DISABLE_ENVOY: "true", CA_ROOT_CA: join(directory, "root-cert.pem") };
  await using byToken = await startFakeCa({ directory });
  await using first = await startAgentProcess({ controlPlane, env: { ...options, CA_ADDR: byToken.endpoint } });
  await untilWritten(first);
  first.kill("SIGTERM");
  expect(await first.exited).toBe(0);
  const files = Object.fromEntries(
    ["key.pem", "cert-chain.pem", "root-cert.pem"].map((name) => [`prov/${name}`, read(first, `out/${name}`)]),
  );

  await using byCertificate = await startFakeCa({ directory, requireClientCertificate: true });
  await using second = await startAgentProcess({
    controlPlane,
    files,
    env: { ...options, CA_ADDR: byCertificate.endpoint, PROV_CERT: "prov", OUTPUT_CERTS: "prov" },
    wrapper: ["sh", "-c", 'rm var/run/secrets/tokens/istio-token && exec "$@"', "-"],
  });
  await until(async () => (read(second, "prov/key.pem") === files["prov/key.pem"] ? "not rotated" : undefined));
  const [call] = byCertificate.calls;
  expect(call?.clientCertificate).toBe("URI:spiffe://cluster.local/ns/ns/sa/app");
  expect(call?.metadata.authorization).toBeUndefined();
});

test("generation 1.8 opens its streams to the control plane again when the client certificate is replaced", async () => {
  const issue = async () => {
    await using agent = await startAgentProcess({ controlPlane, env: { OUTPUT_CERTS: "out", DISABLE_ENVOY: "true" } });
    await untilWritten(agent);
    return { key: read(agent, "out/key.pem"), chain: read(agent, "out/cert-chain.pem") };
  };
  const [first, second] = [await issue(), await issue()];
  const root = readFileSync(controlPlane.rootFile, "utf8");
  const opened = controlPlane.streams.length;
  await using agent = await startAgentProcess({
    controlPlane,
    files: { "prov/key.pem": first.key, "prov/cert-chain.pem": first.chain, "prov/root-cert.pem": root },
    env: { PILOT_AGENT_GENERATION: "1.8", PROV_CERT: "prov" },
  });
  await agent.untilReady();
  const before = await controlPlane.stream(opened);
  writeFileSync(join(agent.folder, "prov/key.pem"), second.key);
  writeFileSync(join(agent.folder, "prov/cert-chain.pem"), second.chain);
  await before.closed;
  await (await controlPlane.stream(opened + 1)).received(1);
  expect(agent.stdout()).toContain("the client certificate has changed");
});

test("generation 1.20 exchanges tokens on --stsPort by Google's two steps", async () => {
  await using google = await startFakeGoogle();
  const [stsPort = 0] = await freePorts(1);
  await using agent = await startAgentProcess({
    controlPlane,
    args: ["--stsPort", String(stsPort)],
    env: {
      PILOT_AGENT_GENERATION: "1.20",
      CLOUD_PLATFORM: "gcp",
      GCP_METADATA: "project|1234|cluster|region",
      STS_FEDERATED_TOKEN_ENDPOINT: `${google.url}/v1/token`,
      STS_CREDENTIALS_URL: google.url,
    },
  });
  await agent.untilReady();
  const subject = read(agent, "var/run/secrets/tokens/istio-token");
  const answer = await fetch(`http://127.0.0.1:${stsPort}/token`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded; charset=utf-8" },
    body: new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: subject,
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    }),
  });
  expect(answer.status).toBe(200);
  const { access_token: token } = (await answer.json()) as { access_token: string };
  expect(token).not.toBe("");
  expect(google.calls.map((call) => call.path)).toEqual([
    "/v1/token",
    expect.stringContaining("service-1234@gcp-sa-meshdataplane.iam.gserviceaccount.com:generateAccessToken"),
  ]);
  const status = await (await fetch(`http://127.0.0.1:${stsPort}/stsStatus`)).text();
  for (const shown of [status, agent.stdout(), agent.stderr()]) {
    expect(shown).not.toContain(token);
    expect(shown).not.toContain(subject.split(".")[2]);
  }
  expect(JSON.parse(read(agent, "etc/istio/proxy/envoy-rev.json")).node.metadata.STS_PORT).toBe(String(stsPort));
});

test("generation 1.20 does not start a token exchange outside Google's cloud, and says why", async () => {
  const [stsPort = 0, closed = 0] = await freePorts(2);
  await using agent = await startAgentProcess({
    controlPlane,
    args: ["--stsPort", String(stsPort)],
    env: { PILOT_AGENT_GENERATION: "1.20", GCE_METADATA_HOST: `127.0.0.1:${closed}` },
  });
  expect(await agent.exited).toBe(255);
  expect(agent.stderr()).toMatch(
    /^Error: GoogleTokenExchange token manager specified but failed to ready GCP project information: .*ECONNREFUSED/m,
  );
});

test("generation 1.20 calls the control plane with a traded token where XDS_AUTH_PROVIDER says so", async () => {
  await using google = await startFakeGoogle();
  await using agent = await startAgentProcess({
    controlPlane,
    env: {
      PILOT_AGENT_GENERATION: "1.20",
      XDS_AUTH_PROVIDER: "gcp",
      GCP_METADATA: "project|1234|cluster|region",
      STS_FEDERATED_TOKEN_ENDPOINT: `${google.url}/v1/token`,
      STS_CREDENTIALS_URL: google.url,
    },
  });
  await agent.untilReady();
  expect(google.calls.map((call) => call.step)).toEqual(["federated", "access"]);
  expect(google.calls[0]?.body.subjectToken).toBe(read(agent, "var/run/secrets/tokens/istio-token"));
});

test("a service account with a comma is asked for as several names, as by the reference", async () => {
  const before = ca.calls.length;
  await using agent = await startAgentProcess({
    controlPlane,
    env: { ...caEnv(), OUTPUT_CERTS: "out", DISABLE_ENVOY: "true", SERVICE_ACCOUNT: "a,b" },
  });
  await untilWritten(agent);
  expect(parseCsr(ca.calls[before]?.csr ?? "").names).toEqual([
    { kind: "uri", value: "spiffe://cluster.local/ns/ns/sa/a" },
    { kind: "dns", value: "b" },
  ]);
});
