import { execFile } from "node:child_process";
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../src/base/logger.ts";
import { MetricRegistry } from "../src/base/metric-registry.ts";
import { declareSdsMetrics } from "../src/sds/metrics.ts";
import { startSdsServer } from "../src/sds/start-sds-server.ts";
import {
  type AgentOptions,
  type AgentProcess,
  freePorts,
  startAgentProcess,
} from "../test/support/agent/agent-process.ts";
import { type FakeCa, startFakeCa } from "../test/support/certs/fake-ca.ts";
import { needs } from "../test/support/needs.ts";
import { startConnectProxy } from "../test/support/net/connect-proxy.ts";
import { connectSds, decodeSecrets, node, SECRET_TYPE } from "../test/support/sds/client.ts";
import { createTestSource } from "../test/support/sds/source.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import { httpListener } from "../test/support/xds/mesh-resources.ts";

beforeEach(needs("envoy"));

/** xDS with a listener that needs the workload's certificate: without one Envoy does not become ready. */
async function startControlPlane() {
  const [port = 0] = await freePorts(1);
  return startMeshControlPlane({ resources: () => [httpListener({ name: "in", port, answer: "x", mutualTls: true })] });
}

const withCa = (ca: FakeCa, options: AgentOptions): AgentOptions => ({
  ...options,
  env: { CA_ADDR: ca.endpoint, CA_ROOT_CA: ca.rootFile, ...options.env },
});

const untilNotReadyBecause = (agent: AgentProcess, reason: RegExp) =>
  until(async () => {
    const { status, body } = await agent.get("status", "/healthz/ready");
    return status !== 200 && reason.test(body) ? undefined : `${status} ${body}`;
  });

/** Neither keys nor tokens are in anything the agent printed or shows. */
async function expectNoSecrets(agent: AgentProcess, ...tokens: string[]): Promise<void> {
  const pages = await Promise.all(["/debug/certs", "/healthz/ready"].map((path) => agent.get("status", path)));
  const everything = [agent.stdout(), agent.stderr(), ...pages.map((page) => page.body)].join("\n");
  expect(everything).not.toContain("PRIVATE KEY");
  for (const token of tokens) {
    expect(token).not.toBe("");
    expect(everything).not.toContain(token);
    expect(everything).not.toContain(token.split(".")[2] ?? token);
  }
}

const tokenOf = (agent: AgentProcess) => readFileSync(join(agent.folder, "var/run/secrets/tokens/istio-token"), "utf8");

async function askSds(agent: AgentProcess, name: string, socket = "var/run/secrets/workload-spiffe-uds/socket") {
  await using client = connectSds(join(agent.folder, socket));
  const stream = client.stream();
  stream.send({ node: node(), type_url: SECRET_TYPE, resource_names: [name] });
  const [secret] = decodeSecrets(await stream.next());
  stream.cancel();
  return secret;
}

describe("a CA in trouble at the start", () => {
  test("that is down: not ready with the reason, and ready once it is up", async () => {
    await using controlPlane = await startControlPlane();
    const [port = 0] = await freePorts(1);
    await using first = await startFakeCa({ port });
    const options = withCa(first, { controlPlane, files: { "ca.pem": first.rootPem }, env: { CA_ROOT_CA: "ca.pem" } });
    await first.stop();
    await using agent = await startAgentProcess(options);
    await untilNotReadyBecause(agent, new RegExp(`no workload certificate: .*CA at 127.0.0.1:${port}: .*ECONNREFUSED`));
    await using second = await startFakeCa({ port });
    writeFileSync(join(agent.folder, "ca.pem"), second.rootPem);
    await agent.untilReady();
    await expectNoSecrets(agent, tokenOf(agent));
  });

  test.each([
    { what: "answers with garbage", chain: async () => ["garbage", "more"], reason: /CA at .*: .*certificate/ },
    { what: "answers with nothing", chain: async () => [], reason: /invalid empty CertChain/ },
    {
      what: "answers with another's certificate",
      chain: async (ca: FakeCa) => [(await ca.issue("spiffe://cluster.local/ns/ns/sa/app")).chainPem, ca.rootPem],
      reason: /CA at .*key/,
    },
  ])("that $what: not ready with the reason, and ready once it answers well", async ({ chain, reason }) => {
    await using controlPlane = await startControlPlane();
    await using ca = await startFakeCa();
    ca.setAnswer(() => chain(ca));
    await using agent = await startAgentProcess(withCa(ca, { controlPlane }));
    await untilNotReadyBecause(agent, reason);
    ca.setAnswer((_call, sign) => sign());
    await agent.untilReady();
    await expectNoSecrets(agent, tokenOf(agent));
  });

  test("whose root is another: the file that was used is named; the right root is taken up", async () => {
    await using controlPlane = await startControlPlane();
    await using ca = await startFakeCa();
    await using stranger = await startFakeCa();
    const files = { "ca.pem": stranger.rootPem };
    await using agent = await startAgentProcess(withCa(ca, { controlPlane, files, env: { CA_ROOT_CA: "ca.pem" } }));
    await untilNotReadyBecause(agent, /certificate not trusted \(root used: ca.pem\)/);
    writeFileSync(join(agent.folder, "ca.pem"), ca.rootPem);
    await agent.untilReady();
  });
});

test("a token that is missing, empty or wrong is reported, and the right one is used when it appears", async () => {
  await using controlPlane = await startControlPlane();
  await using agent = await startAgentProcess({
    controlPlane,
    wrapper: ["sh", "-c", 'mv var/run/secrets/tokens/istio-token good && exec "$@"', "-"],
  });
  const write = (text: string) => writeFileSync(join(agent.folder, "var/run/secrets/tokens/istio-token"), text);
  await untilNotReadyBecause(agent, /Unauthenticated/);
  expect(agent.stdout()).toContain("failed to fetch token from file");
  write("");
  const good = readFileSync(join(agent.folder, "good"), "utf8");
  const forged = `${good.split(".").slice(0, 2).join(".")}.c2lnbmVkLWJ5LW5vYm9keQ`;
  write(forged);
  await untilNotReadyBecause(agent, /Unauthenticated/);
  write(good);
  await agent.untilReady();
  await expectNoSecrets(agent, good, forged);
});

test("beside a workload SDS of another party the agent serves files only", async () => {
  await using controlPlane = await startControlPlane();
  const socket = "var/run/secrets/workload-spiffe-uds/socket";
  await using agent = await startAgentProcess({
    controlPlane,
    files: { "extra.pem": readFileSync(controlPlane.rootFile, "utf8") },
    wrapper: [
      "sh",
      "-c",
      `mkdir -p ${socket.replace("/socket", "")}; until [ -S ${socket} ]; do sleep 0.02; done; exec "$@"`,
      "-",
    ],
  });
  const source = createTestSource({ default: "theirs", ROOTCA: "their roots" });
  const metrics = declareSdsMetrics(new MetricRegistry());
  await using _theirs = await startSdsServer({ path: join(agent.folder, socket), source, metrics, log: silentLogger });
  await until(async () => (agent.stdout().includes("will only serve files") ? undefined : "not noticed"));
  const files = "var/run/secrets/credential-uds/files-socket";
  await until(async () => (agent.stdout().includes(files) ? undefined : "not started"));
  const extra = join(agent.folder, "extra.pem");
  const secret = await askSds(agent, `file-root:${extra}`, files);
  expect(String(secret?.validation_context?.trusted_ca.inline_bytes)).toContain("BEGIN CERTIFICATE");
  await expect(askSds(agent, "default", files)).rejects.toThrow("ca client is nil");
  expect(controlPlane.issued).toBe(0);
  await until(async () => ((await agent.envoyPids()).length === 1 ? undefined : "no Envoy"));
  const bootstrap = JSON.parse(readFileSync(join(agent.folder, "etc/istio/proxy/envoy-rev.json"), "utf8"));
  expect(bootstrap.node.metadata["file-credential"]).toBe("true");
  expect(bootstrap.static_resources.clusters.map(({ name }: { name: string }) => name)).toContain("sds-files-grpc");
});

describe("OUTPUT_CERTS", () => {
  beforeEach(needs("openssl"));

  test("a reader of one version never sees a key beside another's certificate, however fast they rotate", async () => {
    await using controlPlane = await startMeshControlPlane({ resources: () => [] });
    await using agent = await startAgentProcess({
      controlPlane,
      // All of the life left is the time to renew: as often as the agent lets itself.
      env: {
        OUTPUT_CERTS: "out",
        SECRET_GRACE_PERIOD_RATIO: "1",
        SECRET_GRACE_PERIOD_RATIO_JITTER: "0",
        DISABLE_ENVOY: "true",
      },
    });
    const out = join(agent.folder, "out");
    const publicKey = async (args: string[]) => (await promisify(execFile)("openssl", args)).stdout;
    const seen = new Set<string>();
    await until(async () => {
      const version = realpathSync(join(out, "..data"));
      const ofCertificate = await publicKey(["x509", "-in", join(version, "cert-chain.pem"), "-noout", "-pubkey"]);
      const ofKey = await publicKey(["pkey", "-in", join(version, "key.pem"), "-pubout"]);
      if (ofCertificate !== ofKey) throw new TypeError(`mismatch in ${version}`);
      seen.add(ofKey);
      return seen.size >= 5 ? undefined : `${seen.size} versions`;
    });
    await expectNoSecrets(agent, tokenOf(agent));
  });
});

test("a CRL and a private key provider reach Envoy's protos as they should", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({
    controlPlane,
    files: { "var/run/secrets/istio/crl/ca-crl.pem": "-----BEGIN X509 CRL-----\n-----END X509 CRL-----\n" },
    proxyConfig: { privateKeyProvider: { cryptomb: { pollDelay: "2.010s", fallback: true } } },
  });
  await agent.untilReady();
  const root = await askSds(agent, "ROOTCA");
  expect(root?.validation_context?.crl?.filename).toContain("var/run/secrets/istio/crl/ca-crl.pem");
  const workload = (await askSds(agent, "default"))?.tls_certificate as unknown as Record<string, unknown>;
  expect(workload.private_key ?? null).toBeNull();
  expect(workload.private_key_provider).toMatchObject({ provider_name: "cryptomb", fallback: true });
});

test("the control plane and the CA are reached through the proxy of HTTPS_PROXY", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using proxy = await startConnectProxy(`127.0.0.1:${controlPlane.port}`);
  const address = "istiod.istio-system.svc:15012";
  await using agent = await startAgentProcess({
    controlPlane,
    env: { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, COMPLIANCE_POLICY: "fips-140-2" },
    proxyConfig: { discoveryAddress: address },
  });
  await agent.untilReady();
  await until(async () => (controlPlane.issued > 0 ? undefined : "no certificate yet"));
  expect(proxy.asked.length).toBeGreaterThanOrEqual(2);
  expect(new Set(proxy.asked.map(({ target }) => target))).toEqual(new Set([address]));
  expect(agent.stdout()).toContain("the CA is reached through the proxy of HTTPS_PROXY");
});

test.each([{ algorithm: "" }, { algorithm: "ECDSA" }])(
  "from the opened status port on, no start, key ($algorithm) or rotation holds up the event loop for longer than 20 ms of a usual processor",
  async ({ algorithm }) => {
    await using controlPlane = await startMeshControlPlane({ resources: () => [] });
    const probe = join(import.meta.dirname, "../test/support/process/event-loop-probe.cjs");
    await using agent = await startAgentProcess({
      controlPlane,
      env: {
        // Quoted: the checkout's path may have spaces.
        NODE_OPTIONS: `--require=${JSON.stringify(probe)}`,
        ECC_SIGNATURE_ALGORITHM: algorithm,
        OUTPUT_CERTS: "out",
        SECRET_GRACE_PERIOD_RATIO: "1",
        SECRET_GRACE_PERIOD_RATIO_JITTER: "0",
      },
    });
    // Any answer: from then on someone may be kept waiting.
    await until(async () => void (await agent.get("status", "/healthz/ready")));
    writeFileSync(join(agent.folder, "measure"), "");
    await agent.untilReady();
    const before = controlPlane.issued;
    await until(async () => (controlPlane.issued >= before + 5 ? undefined : "not rotated"));
    const readProbe = () => JSON.parse(readFileSync(join(agent.folder, "loop.json"), "utf8"));
    await until(async () => (readProbe().turns > 200 ? undefined : "not measured"));
    const { longestMs, unitMs } = readProbe();
    expect(longestMs).toBeGreaterThan(0);
    expect(longestMs / unitMs).toBeLessThan(1);
  },
);
