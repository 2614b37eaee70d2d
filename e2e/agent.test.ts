import { execFile } from "node:child_process";
import { existsSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test } from "vitest";
import { fetchText, freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { needs } from "../test/support/needs.ts";
import { PROGRAM } from "../test/support/process/program.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import { httpListener, staticCluster } from "../test/support/xds/mesh-resources.ts";

const exec = promisify(execFile);

beforeEach(needs("envoy"));

test("a sidecar gets certificate and configuration over TLS, becomes ready, serves, and ends clean on SIGTERM", async () => {
  const [port = 0] = await freePorts(1);
  await using controlPlane = await startMeshControlPlane({
    resources: () => [httpListener({ name: "hello", port, answer: "hello\n", inbound: true })],
  });
  await using agent = await startAgentProcess({ controlPlane });
  await agent.untilReady();
  expect((await fetchText(port, "/")).body).toBe("hello\n");
  expect((await agent.get("envoyStatus", "/healthz/ready")).status).toBe(200);
  // The first certificate may come after readiness: no listener here needs it.
  const certificates = async () => (await agent.get("status", "/debug/certs")).body;
  await expect.poll(certificates).toContain("spiffe://cluster.local/ns/ns/sa/app");
  expect(await certificates()).not.toContain("PRIVATE KEY");
  expect(statSync(join(agent.folder, "etc/istio/proxy/envoy-rev.json")).mode & 0o777).toBe(0o600);
  const [envoy = 0] = await agent.envoyPids();
  agent.kill("SIGTERM");
  expect(await agent.exited).toBe(0);
  expect(existsSync(`/proc/${envoy}`)).toBe(false);
  expect(existsSync(join(agent.folder, "etc/istio/proxy/envoy-rev.json"))).toBe(false);
  expect(existsSync(join(agent.folder, "etc/istio/proxy/XDS"))).toBe(false);
  const log = agent.stdout();
  for (const line of [
    "Proxy role",
    "Effective config: ",
    "Agent draining Proxy for termination",
    "Agent has successfully terminated",
  ]) {
    expect(log).toContain(line);
  }
  expect(log).toMatch(/\tinfo\txdsproxy\tconnected to delta upstream XDS server: localhost:\d+\tid=1\n/);
  expect(log).toMatch(/\tinfo\tReadiness succeeded in \d/);
  expect(log).toMatch(
    /\tinfo\tcache\tgenerated new workload certificate\tresourceName=default latency=\S+s ttl=23h59m\S+s\n/,
  );
  expect(log).toMatch(/\tinfo\tcache\tRoot cert has changed, start rotating root cert\n/);
});

test("an agent with usual settings has not read the code that others need, and holds it as it was at the start", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane });
  await agent.untilReady();
  // A descriptor may be closed between the list and the look at it.
  await until(() => {
    const open = readdirSync(`/proc/${agent.pid}/fd`).map((fd) => readlinkSync(`/proc/${agent.pid}/fd/${fd}`));
    expect(open.filter((path) => path.endsWith("/dist/proxy-rare.cjs"))).toHaveLength(1);
  });
});

test("two workloads talk mutual TLS with certificates of the CA, a stranger is refused", async () => {
  const [server = 0, client = 0] = await freePorts(2);
  await using controlPlane = await startMeshControlPlane({
    resources: (node) =>
      node.includes("~server.ns~")
        ? [httpListener({ name: "in", port: server, answer: "secured\n", mutualTls: true, inbound: true })]
        : [httpListener({ name: "out", port: client, cluster: "server" }), staticCluster("server", server, true)],
  });
  await using _server = await startAgentProcess({ name: "server", controlPlane });
  await using _client = await startAgentProcess({ name: "client", controlPlane });
  await Promise.all([_server.untilReady(), _client.untilReady()]);
  expect(await fetchText(client, "/")).toEqual({ status: 200, body: "secured\n" });
  await expect(fetchText(server, "/")).rejects.toThrow();
  expect(_server.stdout()).toMatch(/\tinfo\tads\tADS: new connection for node:1\n/);
});

test("wait and request work against a running agent and its Envoy", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane });
  const waited = await exec(PROGRAM, [
    "wait",
    "--periodMillis=50",
    "--url",
    `http://localhost:${agent.ports.envoyStatus}/healthz/ready`,
  ]);
  expect(waited.stdout).toContain("Envoy is ready!");
  expect((await agent.get("status", "/version")).body).toContain('"version"');
});

test("an Envoy that is killed comes back, and the agent is ready again", async () => {
  const [port = 0] = await freePorts(1);
  await using controlPlane = await startMeshControlPlane({
    resources: () => [httpListener({ name: "hello", port, answer: "hi" })],
  });
  await using agent = await startAgentProcess({ controlPlane });
  await agent.untilReady();
  const [before = 0] = await agent.envoyPids();
  process.kill(before, "SIGKILL");
  await until(async () => {
    const [now] = await agent.envoyPids();
    return now !== undefined && now !== before ? undefined : "no new Envoy";
  });
  await until(async () => ((await fetchText(port, "/")).body === "hi" ? undefined : "other answer"));
});

test("Envoy does not outlive an agent that is killed", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane });
  await agent.untilReady();
  const [envoy = 0] = await agent.envoyPids();
  agent.kill("SIGKILL");
  await agent.exited;
  await until(async () => (existsSync(`/proc/${envoy}`) ? "Envoy is still there" : undefined));
});

test("readiness turns false when the drain begins, and a second signal cuts it short", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane, proxyConfig: { terminationDrainDuration: "600s" } });
  await agent.untilReady();
  agent.kill("SIGTERM");
  await until(async () => {
    const { status, body } = await agent.get("status", "/healthz/ready");
    return status === 503 && body.includes("terminated") ? undefined : `${status} ${body}`;
  });
  agent.kill("SIGTERM");
  expect(await agent.exited).toBe(0);
});

test("/quitquitquit ends at once, /drain keeps running until the signal", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const slow = { proxyConfig: { terminationDrainDuration: "600s" } };
  await using quitting = await startAgentProcess({ controlPlane, ...slow });
  await using draining = await startAgentProcess({ controlPlane, name: "other", ...slow });
  await Promise.all([quitting.untilReady(), draining.untilReady()]);
  expect(await quitting.get("status", "/quitquitquit", "POST")).toEqual({ status: 200, body: "OK" });
  expect(await quitting.exited).toBe(0);
  expect(await draining.get("status", "/drain", "POST")).toEqual({ status: 200, body: "OK" });
  await until(async () => (draining.stdout().includes("starting drain") ? undefined : "no drain yet"));
  draining.kill("SIGTERM");
  expect(await draining.exited).toBe(0);
});

describe("a start that cannot work ends before anything runs", () => {
  test.each([
    {
      what: "an unknown node type",
      options: { args: ["--domain", "x"], env: {}, node: "teapot" },
      message: "invalid proxy Type: teapot",
    },
    {
      what: "all problems of the configuration at once",
      options: {
        proxyConfig: { statusPort: 99999999, discoveryAddress: "nowhere", drainDuration: "1500ms" },
        env: { CREDENTIAL_FETCHER_TYPE: "Pigeon" },
      },
      message: "discovery address",
    },
    { what: "a missing root certificate", options: { files: {} }, message: "root CA file for" },
  ])("$what", async ({ options, message }) => {
    const { node, ...rest } = { node: undefined, ...options };
    await using agent = await startAgentProcess(rest);
    if (node === undefined) {
      expect(await agent.exited).toBe(255);
      expect(agent.stderr()).toContain(message);
      expect(agent.stderr()).not.toMatch(/\n\s+at /);
      return;
    }
    await expect(exec(PROGRAM, ["proxy", node], { cwd: agent.folder })).rejects.toMatchObject({
      code: 255,
      stderr: `Error: ${message}\n`,
    });
  });
});

test("a status port that is taken ends the agent with a clear error", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using first = await startAgentProcess({ controlPlane });
  await first.untilReady();
  await using second = await startAgentProcess({ controlPlane, proxyConfig: { statusPort: first.ports.status } });
  expect(await second.exited).toBe(255);
  expect(second.stderr()).toContain(`listen tcp :${first.ports.status}: bind: address already in use`);
});

test("a CA provider that no one knows ends the start with the words operators search for", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane, env: { CA_PROVIDER: "Vault" } });
  expect(await agent.exited).toBe(255);
  expect(agent.stderr()).toContain(
    'failed to start default Istio SDS server: failed to start workload secret manager CA provider "Vault" not registered',
  );
  expect(await agent.envoyPids()).toEqual([]);
});

test("without Envoy the agent still writes certificates and the gRPC bootstrap, and ends at once on a signal", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane, env: { DISABLE_ENVOY: "true", OUTPUT_CERTS: "out" } });
  await agent.untilReady();
  for (const name of ["key.pem", "cert-chain.pem", "root-cert.pem"])
    expect(existsSync(join(agent.folder, "out", name))).toBe(true);
  expect(existsSync(join(agent.folder, "etc/istio/proxy/grpc-bootstrap.json"))).toBe(true);
  expect(await agent.envoyPids()).toEqual([]);
  expect((await agent.get("status", "/drain", "POST")).status).toBe(200);
  agent.kill("SIGTERM");
  expect(await agent.exited).toBe(0);
});
