import { readdirSync, readFileSync } from "node:fs";
import { beforeEach, expect, test } from "vitest";
import { fetchText, freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { needs } from "../test/support/needs.ts";
import { startFakeGoogle } from "../test/support/sts/google-endpoints.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import { httpListener } from "../test/support/xds/mesh-resources.ts";

beforeEach(needs("envoy"));

const SHARED_MEMORY = /^envoy_shared_memory_/;

/** What tells the generations apart on Envoy's command line, and flags that today's Envoy has forgotten. */
const GENERATIONS = [
  { generation: "1.20", has: ["--disable-hot-restart", "--log-format"], lost: [], socket: "workload-spiffe-uds" },
  {
    generation: "1.8",
    has: ["--restart-epoch", "--base-id", "--parent-shutdown-time-s\u000090\0", "envoy-rev0.json"],
    // Its flags win, also those that were not given.
    proxyConfig: { parentShutdownDuration: "90s", concurrency: 7 },
    without: ["--concurrency"],
    lost: ["--bootstrap-version", "--log-format-prefix-with-location"],
    socket: "etc/istio/proxy/SDS",
  },
  {
    generation: "1.7",
    has: ["--restart-epoch", "--service-node", "--service-cluster"],
    lost: ["--log-format-prefix-with-location"],
    socket: "etc/istio/proxy/SDS",
  },
  {
    generation: "1.6",
    has: ["--restart-epoch", "--service-node", "--log-format"],
    lost: ["--max-obj-name-len"],
    socket: "etc/istio/proxy/SDS",
  },
];

test.each(GENERATIONS)(
  "generation $generation starts today's Envoy with its own flags, gives it a certificate and leaves nothing behind",
  async ({ generation, has, lost, without = [], socket, proxyConfig = {} }) => {
    const [port = 0] = await freePorts(1);
    await using controlPlane = await startMeshControlPlane({
      // Only there once Envoy has the workload's certificate from the generation's SDS socket.
      resources: () => [httpListener({ name: "secured", port, answer: "x", mutualTls: true })],
    });
    await using agent = await startAgentProcess({
      controlPlane,
      env: { PILOT_AGENT_GENERATION: generation },
      proxyConfig,
    });
    await agent.untilReady();
    const command = readFileSync(`/proc/${(await agent.envoyPids())[0]}/cmdline`, "utf8");
    for (const word of has) expect(command).toContain(word);
    for (const flag of [...lost, ...without]) expect(command).not.toContain(flag);
    const warnings = agent.stdout().match(/Envoy does not know these flags.*/g) ?? [];
    expect(warnings).toHaveLength(lost.length === 0 ? 0 : 1);
    for (const flag of lost) expect(warnings[0]).toContain(flag);
    expect(agent.stdout()).toContain(socket);
    expect((await agent.get("admin", "/certs")).body).toContain("spiffe://cluster.local/ns/ns/sa/app");

    const baseId = /--base-id\0(\d+)/.exec(command)?.[1];
    agent.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
    expect(readdirSync("/dev/shm").filter((name) => SHARED_MEMORY.test(name))).not.toContain(
      `envoy_shared_memory_${baseId}0`,
    );
  },
);

test("PILOT_CERT_PROVIDER=kubernetes of 1.20 needs no other root than the cluster's, for xDS and for the CA", async () => {
  const [port = 0] = await freePorts(1);
  await using controlPlane = await startMeshControlPlane({
    resources: () => [httpListener({ name: "secured", port, answer: "x", mutualTls: true })],
  });
  const root = readFileSync(controlPlane.rootFile, "utf8");
  await using agent = await startAgentProcess({
    controlPlane,
    env: { PILOT_AGENT_GENERATION: "1.20", PILOT_CERT_PROVIDER: "kubernetes" },
    files: { "var/run/secrets/kubernetes.io/serviceaccount/ca.crt": root },
    wrapper: ["sh", "-c", 'rm var/run/secrets/istio/root-cert.pem && exec "$@"', "-"],
  });
  await agent.untilReady();
  expect((await agent.get("admin", "/certs")).body).toContain("spiffe://cluster.local/ns/ns/sa/app");
});

test("with CALL_CREDENTIALS Envoy of 1.8 gets its xDS tokens from the agent's STS server", async () => {
  await using google = await startFakeGoogle();
  const [port = 0, stsPort = 0] = await freePorts(2);
  await using controlPlane = await startMeshControlPlane({
    resources: () => [httpListener({ name: "in", port, answer: "by call credentials" })],
  });
  await using agent = await startAgentProcess({
    controlPlane,
    args: ["--stsPort", String(stsPort)],
    env: {
      PILOT_AGENT_GENERATION: "1.8",
      CALL_CREDENTIALS: "true",
      CLOUD_PLATFORM: "gcp",
      GCP_METADATA: "project|1234|cluster|region",
      STS_FEDERATED_TOKEN_ENDPOINT: `${google.url}/v1/token`,
      STS_CREDENTIALS_URL: google.url,
    },
  });
  await agent.untilReady();
  expect((await fetchText(port, "/")).body).toBe("by call credentials");
  expect(google.calls.map((call) => call.step)).toEqual(["federated", "access"]);
});

test("up to 1.7 the token says who the workload is", async () => {
  const [port = 0] = await freePorts(1);
  await using controlPlane = await startMeshControlPlane({
    resources: () => [httpListener({ name: "secured", port, answer: "x", mutualTls: true })],
  });
  const env = { PILOT_AGENT_GENERATION: "1.7", SERVICE_ACCOUNT: "" };
  await using agent = await startAgentProcess({ name: "from-token", controlPlane, env });
  await agent.untilReady();
  expect((await agent.get("admin", "/certs")).body).toContain("spiffe://cluster.local/ns/ns/sa/from-token");
});

test.each([
  { CA_ADDR: "", code: undefined, says: "CA Endpoint istiod.istio-system.svc:15010, provider Citadel" },
  { CA_ADDR: "localhost:15012", code: 1, says: "invalid config - port 15012 missing a root certificate" },
])("1.7 without the CA's root, CA_ADDR=$CA_ADDR: $says", async ({ CA_ADDR, code, says }) => {
  await using agent = await startAgentProcess({ env: { PILOT_AGENT_GENERATION: "1.7", CA_ADDR } });
  await until(() => agent.stdout().includes(says) || agent.stdout().slice(-500));
  if (code !== undefined) expect(await agent.exited).toBe(code);
});
