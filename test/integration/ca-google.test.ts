import { afterEach, describe, expect, test } from "vitest";
import { connectCa } from "../../src/agent/connect-identity.ts";
import { CloseStack } from "../../src/base/close-stack.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { Secret } from "../../src/base/secret.ts";
import { startCaClient } from "../../src/identity/ca-client/providers.ts";
import { declareIdentityMetrics } from "../../src/identity/metrics.ts";
import { NO_PLATFORM } from "../../src/platform/index.ts";
import { buildCsr } from "../../src/protocol/x509/csr.ts";
import { generateKeyPair } from "../../src/protocol/x509/key-pair.ts";
import { chooseGeneration } from "../../src/settings/generations.ts";
import { defaultProxyFlags } from "../../src/settings/proxy-flags.ts";
import { readAgentConfig } from "../../src/settings/read-agent-config.ts";
import { type FakeGoogleCa, startFakeGoogleCa } from "../support/certs/fake-google-ca.ts";
import { startFakeGoogle } from "../support/sts/google-endpoints.ts";

const IDENTITY = "spiffe://project.svc.id.goog/ns/default/sa/web";
const POOL = "projects/p/locations/europe-west1/caPools/mesh";
const CLUSTER = "https://container.googleapis.com/v1/projects/p/locations/europe-west1-b/clusters/c";

const opened = new CloseStack();
afterEach(() => opened.close());

async function sign(provider: string, ca: FakeGoogleCa, clusterUrl = CLUSTER) {
  const client = await startCaClient(provider, {
    endpoint: provider === "GoogleCAS" ? POOL : ca.endpoint,
    ...(provider === "GoogleCAS" ? { serviceAddress: ca.endpoint } : {}),
    rootFile: ca.rootFile,
    clusterId: "Kubernetes",
    certSigner: "",
    clusterUrl,
    tokens: { identityProvider: "", fetch: async () => new Secret("federated"), stop: async () => undefined },
    retries: new MetricRegistry().counter({ name: "r", help: "", labels: ["request_type"] }),
    log: silentLogger,
  });
  opened.defer(() => client.close());
  const csr = await buildCsr(await generateKeyPair({ type: "ecdsa", curve: "P256" }), { hosts: [IDENTITY] });
  return client.sign(csr, 3600, new AbortController().signal);
}

describe("Google's mesh CA", () => {
  test("signs a request, identified by the token and where by the location", async () => {
    const ca = opened.add(await startFakeGoogleCa(IDENTITY));
    const signed = await sign("GoogleCA", ca);
    expect(signed.chain).toHaveLength(3);
    expect(signed.roots).toEqual([ca.roots[0]?.pem]);
    expect(ca.calls).toHaveLength(1);
    expect(ca.calls[0]).toMatchObject({
      request: { request_id: expect.stringMatching(/^[0-9a-f-]{36}$/), validity: { seconds: "3600" } },
      metadata: { authorization: "Bearer federated", "x-goog-request-params": "location=locations/europe-west1-b" },
    });
    expect(ca.calls[0]?.metadata).not.toHaveProperty("clusterid");
  });

  test("gets no location for a cluster of a fleet", async () => {
    const ca = opened.add(await startFakeGoogleCa(IDENTITY));
    await sign("GoogleCA", ca, "https://gkehub.googleapis.com/projects/p/locations/global/memberships/m");
    expect(ca.calls[0]?.metadata).not.toHaveProperty("x-goog-request-params");
  });

  test("gives no certificate by a chain of one element", async () => {
    const ca = opened.add(await startFakeGoogleCa(IDENTITY));
    ca.meshChain = [ca.roots[0]?.pem ?? ""];
    await expect(sign("GoogleCA", ca)).rejects.toMatchObject({
      code: "bad-answer",
      message: `CA at ${ca.endpoint}: invalid response cert chain`,
    });
  });
});

describe("Google's Certificate Authority Service", () => {
  test("signs the request's key and gives the roots of all CAs of the pool, each once", async () => {
    const ca = opened.add(await startFakeGoogleCa(IDENTITY));
    const signed = await sign("GoogleCAS", ca);
    expect(signed.chain).toHaveLength(3);
    const roots = ca.roots.map(({ pem }) => pem.trim()).sort();
    expect(signed.roots).toEqual([`${roots.join("\n")}\n`]);
    expect(ca.calls.map(({ path }) => path.split("/").at(-1))).toEqual(["CreateCertificate", "FetchCaCerts"]);
    expect(ca.calls[0]).toMatchObject({
      request: {
        parent: POOL,
        certificate_id: expect.stringMatching(/^csr-workload-[a-z0-9]{8}$/),
        certificate: {
          subject_mode: 2,
          lifetime: { seconds: "3600" },
          config: {
            public_key: { format: 1 },
            x509_config: {
              ca_options: { is_ca: false },
              key_usage: {
                base_key_usage: { digital_signature: true, key_encipherment: true },
                extended_key_usage: { server_auth: true, client_auth: true },
              },
            },
          },
        },
      },
      metadata: { authorization: "Bearer federated" },
    });
    expect(ca.calls[1]).toMatchObject({ request: { ca_pool: POOL } });
  });
});

describe("the agent", () => {
  /** A certificate as an agent of this environment gets it. */
  const signFor = async (
    environment: Readonly<Record<string, string>>,
    ca: Awaited<ReturnType<typeof startFakeGoogleCa>>,
    google: Awaited<ReturnType<typeof startFakeGoogle>>,
  ) => {
    const config = await readAgentConfig({
      args: [],
      flags: defaultProxyFlags(chooseGeneration("")),
      env: {
        INSTANCE_IP: "10.3.3.3",
        CA_ROOT_CA: ca.rootFile,
        TRUST_DOMAIN: "project.svc.id.goog",
        STS_FEDERATED_TOKEN_ENDPOINT: `${google.url}/v1/token`,
        ...environment,
      },
      log: silentLogger,
      uid: 1337,
    });
    const client = await connectCa(config, {
      opened,
      platform: Promise.resolve(NO_PLATFORM),
      tokens: { identityProvider: "", fetch: async () => new Secret("own"), stop: async () => undefined },
      metrics: declareIdentityMetrics(new MetricRegistry()),
      log: silentLogger,
    });
    const csr = await buildCsr(await generateKeyPair({ type: "ecdsa", curve: "P256" }), { hosts: [IDENTITY] });
    return client.sign(csr, 3600, new AbortController().signal);
  };

  test("trades its token for a federated one and names the cluster", async () => {
    const ca = opened.add(await startFakeGoogleCa(IDENTITY));
    const google = opened.add(await startFakeGoogle());
    await signFor({ CA_PROVIDER: "GoogleCA", CA_ADDR: ca.endpoint, GKE_CLUSTER_URL: CLUSTER }, ca, google);
    expect(google.calls[0]?.body).toMatchObject({
      audience: `identitynamespace:project.svc.id.goog:${CLUSTER}`,
      subjectToken: "own",
    });
    expect(ca.calls[0]?.metadata).toMatchObject({
      authorization: "Bearer federated-token",
      "x-goog-request-params": "location=locations/europe-west1-b",
    });
  });

  test("reaches Google's Certificate Authority Service where GOOGLE_CAS_ADDR says", async () => {
    const ca = opened.add(await startFakeGoogleCa(IDENTITY));
    const google = opened.add(await startFakeGoogle());
    const env = { CA_PROVIDER: "GoogleCAS", CA_ADDR: POOL, GOOGLE_CAS_ADDR: ca.endpoint };
    const signed = await signFor(env, ca, google);
    expect(signed.chain).toHaveLength(3);
    expect(ca.calls[0]).toMatchObject({
      request: { parent: POOL },
      metadata: { authorization: "Bearer federated-token" },
    });
  });
});
