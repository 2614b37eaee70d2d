import { spawn } from "node:child_process";
import { constants, existsSync, readFileSync, readlinkSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { type AgentProcess, freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { staticBootstrap } from "../test/support/envoy/static-bootstrap.ts";
import { needs } from "../test/support/needs.ts";
import { lifeOf } from "../test/support/process/process-life.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import { httpListener } from "../test/support/xds/mesh-resources.ts";

beforeEach(needs("envoy"));

/** An open connection that no one uses; the kernel has it a moment before Envoy counts it. */
async function holdConnection(agent: AgentProcess, port: number): Promise<Disposable> {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  await new Promise((open) => socket.once("connect", open));
  await until("Envoy counts the connection", async () => {
    const { body } = await agent.get("admin", `/stats?usedonly&filter=_${port}.downstream_cx_active$`);
    return /: 1$/m.test(body) || body;
  });
  return { [Symbol.dispose]: () => void socket.destroy() };
}

/** A connection from a process in Envoy's network namespace, tried until it is there. */
async function probeInside(envoy: number, port: number) {
  const program = `
    const { connect } = require("node:net");
    const again = () => connect(${port}, "::1").on("connect", () => console.log("connected")).on("error", () => setTimeout(again, 20));
    again();`;
  const child = spawn("nsenter", ["-t", String(envoy), "-n", process.execPath, "-e", program], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  let seen = "";
  child.stdout.on("data", (chunk: Buffer) => {
    seen += chunk.toString();
  });
  await until(async () => (seen === "" ? "no connection yet" : undefined));
  return { seen: () => seen, [Symbol.dispose]: () => void child.kill("SIGKILL") };
}

/** Messages of the agent's log from a point on, without times and levels. */
const messagesSince = (agent: AgentProcess, from: number) =>
  agent
    .stdout()
    .slice(from)
    .split("\n")
    .map((line) => line.split("\t").slice(1).join(" "))
    // The first certificate may come after readiness: Envoy has its listeners before.
    .filter((line) => line !== "" && !line.includes("NOT ready") && !line.startsWith("info cache "));

test("a pipe that Envoy shares with the agent stays blocking: on another one Envoy would lose lines", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  // Not as a part of a pipeline: its shell would end in the place of the agent, which would live on.
  const wrapper = ["bash", "-c", 'exec "$@" > >(cat) 2>&1', "bash"];
  await using agent = await startAgentProcess({ controlPlane, wrapper });
  await agent.untilReady();
  const [envoy] = await agent.envoyPids();
  for (const descriptor of [1, 2]) {
    expect(readlinkSync(`/proc/${envoy}/fd/${descriptor}`)).toMatch(/^pipe:/);
    const [, flags = ""] = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/${envoy}/fdinfo/${descriptor}`, "utf8")) ?? [];
    expect(Number.parseInt(flags, 8) & constants.O_NONBLOCK).toBe(0);
  }
});

describe("exit on zero active connections", () => {
  const env = { EXIT_ON_ZERO_ACTIVE_CONNECTIONS: "true", MINIMUM_DRAIN_DURATION: "500ms" };

  test("the end waits for the last client, but not for scrapers of Envoy's own ports", async () => {
    const [port = 0] = await freePorts(1);
    await using controlPlane = await startMeshControlPlane({
      resources: () => [httpListener({ name: "in", port, answer: "hi", inbound: true })],
    });
    await using agent = await startAgentProcess({ controlPlane, env });
    await agent.untilReady();
    using _scraper = await holdConnection(agent, agent.ports.envoyPrometheus);
    const client = await holdConnection(agent, port);
    const before = agent.stdout().length;
    agent.kill("SIGTERM");
    await until(async () => (agent.stdout().includes("There are still 1 active") ? undefined : "not counted"));
    expect(await agent.get("status", "/healthz/ready")).toMatchObject({
      status: 503,
      body: expect.stringContaining("server is terminated: received signal: terminated"),
    });
    client[Symbol.dispose]();
    expect(await agent.exited).toBe(0);
    expect([...new Set(messagesSince(agent, before))]).toEqual([
      "info Agent draining Proxy for termination",
      "info Agent draining proxy for 500ms, then waiting for active connections to terminate...",
      "info Checking for active connections...",
      "info There are still 1 active connections",
      "info There are no more active connections. terminating proxy...",
      "warn Aborting proxy",
      "info Envoy aborted normally",
      "warn Aborted proxy instance",
      "info Agent has successfully terminated",
      "info Status server has successfully terminated",
    ]);
  });

  test("clients that stay are not waited for beyond the maximum", async () => {
    const [port = 0] = await freePorts(1);
    await using controlPlane = await startMeshControlPlane({
      resources: () => [httpListener({ name: "in", port, answer: "hi", inbound: true })],
    });
    await using agent = await startAgentProcess({ controlPlane, env: { ...env, MAXIMUM_DRAIN_DURATION: "2s" } });
    await agent.untilReady();
    using _client = await holdConnection(agent, port);
    agent.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
    expect(agent.stdout()).toContain("Active connections did not end within 2s, terminating proxy...");
  });

  const noRoots = { XDS_ROOT_CA: "SYSTEM", CA_ROOT_CA: "SYSTEM" };

  describe("on a node with IPv6 only", () => {
    beforeEach(needs("root", "netns"));

    test("a prober of Envoy's own listener does not hold up the end there either", async () => {
      const [admin = 0, envoyStatus = 0] = await freePorts(2);
      const own = staticBootstrap({ adminPort: admin, port: envoyStatus, host: "::", adminHost: "::1" });
      const lonely = 'ip link set lo up && ip addr add fd00::7/128 dev lo && exec "$@"';
      await using agent = await startAgentProcess({
        env: { ...env, INSTANCE_IP: "fd00::7", ENVOY_STATUS_PORT: String(envoyStatus), ...noRoots },
        files: { "own.json": JSON.stringify(own) },
        proxyConfig: { customConfigFile: "own.json", proxyAdminPort: admin },
        wrapper: ["unshare", "--net", "sh", "-c", lonely, "-"],
      });
      await until(async () => ((await agent.envoyPids()).length === 1 ? undefined : "no Envoy"));
      const [envoy = 0] = await agent.envoyPids();
      expect(readFileSync(`/proc/${envoy}/cmdline`, "utf8")).toContain("--local-address-ip-version\0v6");
      using prober = await probeInside(envoy, envoyStatus);
      agent.kill("SIGTERM");
      expect(await agent.exited).toBe(0);
      expect(prober.seen()).toContain("connected");
      expect(agent.stdout()).toContain("There are no more active connections. terminating proxy...");
      expect(agent.stdout()).not.toContain("There are still");
    });
  });
});

describe("how Envoy ends decides how the agent ends", () => {
  test.each([
    {
      what: "a crash with the guard off, as earlier agents",
      signal: "SIGSEGV" as const,
      env: { ENVOY_RESTART_ON_CRASH: "false" },
      says: "Envoy exited with error: signal: segmentation fault",
    },
    { what: "an end on request from outside", signal: "SIGTERM" as const, env: {}, says: "Envoy exited normally" },
  ])("$what is exit code 0", async ({ signal, env, says }) => {
    await using controlPlane = await startMeshControlPlane({ resources: () => [] });
    await using agent = await startAgentProcess({ controlPlane, env });
    await agent.untilReady();
    const [envoy = 0] = await agent.envoyPids();
    process.kill(envoy, signal);
    expect(await agent.exited).toBe(0);
    expect(agent.stdout()).toContain(says);
    expect(existsSync(`${agent.folder}/etc/istio/proxy/envoy-rev.json`)).toBe(false);
  });
});

test("concurrency follows the CPU limit, and a compliance policy reaches Envoy's environment and runtime", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({
    controlPlane,
    env: {
      ISTIO_CPU_LIMIT: "3",
      COMPLIANCE_POLICY: "fips-140-2",
      SOME_TOKEN: "not for Envoy",
      EDGE_NAME: "passed",
      ENVOY_PASS_ENVIRONMENT: "EDGE_*",
    },
  });
  await agent.untilReady();
  const [envoy] = await agent.envoyPids();
  expect(readFileSync(`/proc/${envoy}/cmdline`, "utf8")).toContain("--concurrency\x003\0");
  expect(readFileSync(`/proc/${envoy}/environ`, "utf8")).toContain(
    "GRPC_SSL_CIPHER_SUITES=ECDHE-ECDSA-AES128-GCM-SHA256:",
  );
  const variables = readFileSync(`/proc/${envoy}/environ`, "utf8");
  expect(variables).not.toContain("SOME_TOKEN");
  expect(variables).toContain("EDGE_NAME=passed");
  const { entries } = JSON.parse((await agent.get("admin", "/runtime")).body);
  expect(entries["envoy.reloadable_features.google_grpc_disable_tls_13"].final_value).toBe("true");
});

test("two agents in hot restart mode share a machine, and neither leaves shared memory, killed or not", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const options = { controlPlane, env: { ENVOY_HOT_RESTART: "true" }, proxyConfig: { drainDuration: "1s" } };
  await using one = await startAgentProcess(options);
  await using other = await startAgentProcess(options);
  await Promise.all([one.untilReady(), other.untilReady()]);
  const epochs = async (agent: AgentProcess) =>
    (await agent.envoyPids()).map((pid) => {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return { epoch: words[words.indexOf("--restart-epoch") + 1], baseId: words[words.indexOf("--base-id") + 1] };
    });
  const [[first], [second]] = [await epochs(one), await epochs(other)];
  expect(first?.baseId).not.toBe(second?.baseId);
  for (const agent of [one, other]) agent.kill("SIGHUP");
  await until(async () => {
    const newest = [(await epochs(one)).at(-1), (await epochs(other)).at(-1)];
    return newest.every((each) => each?.epoch === "1") ? undefined : JSON.stringify(newest);
  });
  one.kill("SIGKILL");
  await one.exited;
  other.kill("SIGTERM");
  expect(await other.exited).toBe(0);
  expect(other.stdout()).not.toContain("Failed to delete config file");
  await until(async () => {
    const left = [first, second].map((each) => `/dev/shm/envoy_shared_memory_${each?.baseId}0`).filter(existsSync);
    return left.length === 0 ? undefined : left.join(" ");
  });
});

test("SIGUSR1 opens no debugger, which would give the key to every user of the machine", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane });
  await agent.untilReady();
  agent.kill("SIGUSR1");
  agent.kill("SIGTERM");
  expect(await agent.exited).toBe(0);
  expect(agent.stderr()).not.toContain("Debugger listening");
});

test("a signal while the start is held up ends it with code 0", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  // A file where the directory of the SDS socket belongs: binding is tried again and again.
  await using agent = await startAgentProcess({
    controlPlane,
    files: { "var/run/secrets/workload-spiffe-uds": "no directory" },
  });
  await until(async () => (agent.stdout().includes("failed to set up UDS") ? undefined : "not held up yet"));
  agent.kill("SIGTERM");
  expect(await agent.exited).toBe(0);
});

test("a signal while Envoy is asked for its flags ends the start at once", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const asks = 'case "$*" in *--help*) echo > asked; sleep 600 ;; esac';
  await using agent = await startAgentProcess({
    controlPlane,
    files: { "envoy.sh": `#!/bin/sh\n${asks}\necho > spawned\n` },
    wrapper: ["sh", "-c", 'chmod +x envoy.sh && exec "$0" "$@"'],
    env: { ENVOY_RESTART_ON_CRASH: "false" },
    proxyConfig: { binaryPath: "./envoy.sh" },
  });
  await until(async () => (existsSync(join(agent.folder, "asked")) ? undefined : "not asked yet"));
  agent.kill("SIGTERM");
  expect(await agent.exited).toBe(0);
  expect(existsSync(join(agent.folder, "spawned"))).toBe(false);
  expect(existsSync(join(agent.folder, "etc/istio/proxy/envoy-rev.json"))).toBe(false);
});

test("IPTABLES_TRACE_LOGGING reads the packets that rules copy, until the agent ends", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const tcpdump = '#!/bin/sh\necho "$$ $*" > traced\necho "tcpdump: listening on nflog:1337" >&2\nexec sleep 600\n';
  await using agent = await startAgentProcess({
    controlPlane,
    files: { "bin/tcpdump": tcpdump },
    wrapper: ["sh", "-c", 'chmod +x bin/tcpdump && PATH="$PWD/bin:$PATH" exec "$@"', "-"],
    env: { IPTABLES_TRACE_LOGGING: "true" },
  });
  await agent.untilReady();
  const [pid = "", ...words] = readFileSync(join(agent.folder, "traced"), "utf8").trim().split(" ");
  expect(words).toEqual(expect.arrayContaining(["-i", "nflog:1337"]));
  const isAlive = lifeOf(Number(pid));
  expect(isAlive()).toBe(true);
  agent.kill("SIGTERM");
  expect(await agent.exited).toBe(0);
  expect(isAlive()).toBe(false);
});
