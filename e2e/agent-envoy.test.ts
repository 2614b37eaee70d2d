import { execFile } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test } from "vitest";
import { fetchText, freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { makeCertificate } from "../test/support/certs/certificates.ts";
import { needs } from "../test/support/needs.ts";
import { signalProcess } from "../test/support/process/signal-process.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import { bootstrapResource, httpListener } from "../test/support/xds/mesh-resources.ts";

beforeEach(needs("envoy"));

test("an access log to /dev/stdout arrives in the agent's own output", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const override = {
    admin: {
      access_log: [
        {
          name: "envoy.access_loggers.file",
          typed_config: {
            "@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
            path: "/dev/stdout",
          },
        },
      ],
    },
  };
  await using agent = await startAgentProcess({
    controlPlane,
    files: { "override.json": JSON.stringify(override) },
    env: { ISTIO_BOOTSTRAP_OVERRIDE: "override.json" },
    proxyConfig: { fileFlushInterval: "0.050s" },
  });
  await agent.untilReady();
  await agent.get("admin", "/ready?seen-in-the-log");
  await until(async () => (agent.stdout().includes("/ready?seen-in-the-log") ? undefined : "no access log line"));
});

test("JSON logs: the agent's lines and Envoy's are both JSON", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane, args: ["--log_as_json", "--proxyLogLevel=info"] });
  await agent.untilReady();
  for (const line of agent.stdout().trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("msg");
  const envoyLines = agent
    .stderr()
    .split("\n")
    .filter((line) => line.startsWith("{"));
  expect(envoyLines.length).toBeGreaterThan(5);
  for (const line of envoyLines) expect(JSON.parse(line)).toHaveProperty("scope");
});

describe("hot restart", () => {
  test("SIGHUP replaces Envoy without a refused request and the old one exits", async () => {
    const [port = 0] = await freePorts(1);
    await using controlPlane = await startMeshControlPlane({
      resources: () => [httpListener({ name: "hello", port, answer: "hi" })],
    });
    await using agent = await startAgentProcess({
      controlPlane,
      env: { ENVOY_HOT_RESTART: "true" },
      proxyConfig: { drainDuration: "1s" },
    });
    await agent.untilReady();
    const [before = 0] = await agent.envoyPids();
    let [asked, failed, done] = [0, 0, false];
    const load = (async () => {
      while (!done) {
        asked += 1;
        const answer = await fetchText(port, "/").catch(() => undefined);
        if (answer?.body !== "hi") failed += 1;
      }
    })();
    agent.kill("SIGHUP");
    await until(async () => {
      const pids = await agent.envoyPids();
      return pids.length === 1 && pids[0] !== before ? undefined : `Envoys: ${pids.join(" ")}`;
    });
    await until(() => asked > 50 || `${asked} requests`);
    done = true;
    await load;
    expect(failed).toBe(0);
    expect((await agent.get("status", "/healthz/ready")).status).toBe(200);
    const begun = agent.stdout().length;
    agent.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
    const warnings = agent
      .stdout()
      .slice(begun)
      .split("\n")
      .filter((line) => /\t(warn|error)\t/.test(line));
    // The reference's own lines of every stop whose drain has run its time.
    expect(warnings.filter((line) => !/\t(Aborting proxy|Aborted proxy instance)$/.test(line))).toEqual([]);
  });

  test("outside that mode SIGHUP says why it does nothing", async () => {
    await using controlPlane = await startMeshControlPlane({ resources: () => [] });
    await using agent = await startAgentProcess({ controlPlane });
    await agent.untilReady();
    const [before] = await agent.envoyPids();
    agent.kill("SIGHUP");
    await until(async () => (/hot restart is off/.test(agent.stdout()) ? undefined : "no line"));
    expect(await agent.envoyPids()).toEqual([before]);
  });
});

test("a bootstrap that Envoy refuses is explained with Envoy's own words and a code of its own", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({
    controlPlane,
    files: { "bad.json": '{"admin": {"address": {"socket_adress": {}}}}' },
    proxyConfig: { customConfigFile: "bad.json" },
    env: { ENVOY_RESTART_ON_CRASH: "false" },
  });
  expect(await agent.exited).toBe(0);
  expect(`${agent.stdout()}${agent.stderr()}`).toContain("socket_adress");
});

describe("as root with DNS on port 53", () => {
  beforeEach(needs("root", "netns"));

  test("Envoy runs as 1337 and can read everything it needs", async () => {
    // A listener with the workload's certificate: it is only there once Envoy has reached the SDS socket.
    const [port = 0] = await freePorts(1);
    const secured = httpListener({ name: "in", port, answer: "x", mutualTls: true });
    await using controlPlane = await startMeshControlPlane({ resources: () => [secured] });
    // The name alone decides; DNS itself stays off, so that port 53 of this machine is not touched.
    await using agent = await startAgentProcess({ controlPlane, env: { DNS_PROXY_ADDR: "127.0.0.1:53" } });
    await agent.untilReady();
    const [envoy = 0] = await agent.envoyPids();
    expect(readFileSync(`/proc/${envoy}/status`, "utf8")).toMatch(/^Uid:\t1337\t1337\t1337\t1337$/m);
    expect(readFileSync(`/proc/${envoy}/status`, "utf8")).toMatch(/^Groups:\t\s*$/m);
    expect(statSync(join(agent.folder, "etc/istio/proxy/envoy-rev.json")).uid).toBe(1337);
  });
});

describe("as PID 1", () => {
  beforeEach(needs("root", "setpriv"));

  test("it is pilot-agent in ps, orphans are reaped, signals arrive, and the exit code is the agent's", async () => {
    await using controlPlane = await startMeshControlPlane({ resources: () => [] });
    await using agent = await startAgentProcess({
      controlPlane,
      wrapper: ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"],
    });
    await agent.untilReady();
    const { stdout: tree } = await promisify(execFile)("ps", [
      "--ppid",
      String(agent.pid),
      "-o",
      "pid=",
      "--no-headers",
    ]);
    const init = tree.trim();
    const { stdout: names } = await promisify(execFile)("ps", ["--pid", init, "--ppid", init, "-o", "comm="]);
    expect(names.split("\n").filter((name) => name === "pilot-agent")).toHaveLength(2);
    // A grandchild whose parent is gone becomes a child of PID 1; once dead it must not stay.
    await promisify(execFile)("nsenter", ["-t", init, "-p", "-m", "sh", "-c", "(sh -c 'sleep 0.2' &) ; exit 0"]);
    await until(async () => {
      const { stdout } = await promisify(execFile)("ps", ["-eo", "stat=,ppid=,args="]);
      const zombies = stdout.split("\n").filter((line) => line.startsWith("Z") && line.trim().split(/\s+/)[1] === init);
      return zombies.length === 0 && existsSync(`/proc/${init}`) ? undefined : zombies.join("\n");
    });
    signalProcess(Number(init), "SIGTERM");
    expect(await agent.exited).toBe(0);
  });
});

test("the bootstrap of the control plane replaces the generated one where that is asked for", async () => {
  const [admin = 0, port = 0] = await freePorts(2);
  await using controlPlane = await startMeshControlPlane({
    resources: () => [
      bootstrapResource({ adminPort: admin, listener: httpListener({ name: "given", port, answer: "given by xDS" }) }),
    ],
  });
  await using agent = await startAgentProcess({
    controlPlane,
    env: { BOOTSTRAP_XDS_AGENT: "true", PILOT_AGENT_GENERATION: "1.20" },
  });
  await until(async () => ((await fetchText(port, "/")).body === "given by xDS" ? undefined : "other answer"));
  expect(agent.stdout()).toContain("successfully updated bootstrap config");
  expect(readFileSync(`/proc/${(await agent.envoyPids())[0]}/cmdline`, "utf8")).toContain("envoy-rev.pb");
});

test("in hot restart mode a changed bootstrap file starts a new epoch", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({
    controlPlane,
    files: { "override.json": "{}" },
    env: { ENVOY_HOT_RESTART: "true", ISTIO_BOOTSTRAP_OVERRIDE: "override.json" },
    proxyConfig: { drainDuration: "1s" },
  });
  await agent.untilReady();
  const [before = 0] = await agent.envoyPids();
  writeFileSync(join(agent.folder, "override.json"), '{"stats_flush_interval": "7s"}');
  await until(async () => {
    const pids = await agent.envoyPids();
    return pids.length === 1 && pids[0] !== before ? undefined : `Envoys: ${pids.join(" ")}`;
  });
  const [now = 0] = await agent.envoyPids();
  expect(readFileSync(`/proc/${now}/cmdline`, "utf8")).toContain('{"stats_flush_interval":"7s"}');
});

test.each(["master", "1.8"])(
  "in hot restart mode of %s a key and a chain that are replaced in etc/certs start one new epoch",
  async (generation) => {
    const [first, second] = [await makeCertificate(), await makeCertificate()];
    await using controlPlane = await startMeshControlPlane({ resources: () => [] });
    await using agent = await startAgentProcess({
      controlPlane,
      files: { "etc/certs/cert-chain.pem": first.pem, "etc/certs/key.pem": first.keyPem },
      env: { ENVOY_HOT_RESTART: "true", PILOT_AGENT_GENERATION: generation },
      proxyConfig: { drainDuration: "1s" },
    });
    await agent.untilReady();
    const [before = 0] = await agent.envoyPids();
    const replace = (name: string, text: string) => writeFileSync(join(agent.folder, "etc/certs", name), text);
    replace("key.pem", second.keyPem);
    await until(() => /does not match its chain yet/.test(agent.stdout()) || "the key alone was not noticed");
    expect(agent.stdout()).not.toContain("epoch 1");
    replace("cert-chain.pem", second.pem);
    await until(async () => {
      const pids = await agent.envoyPids();
      return pids.some((pid) => pid !== before) ? undefined : `Envoys: ${pids.join(" ")}`;
    });
    expect(agent.stdout().match(/certificates have changed/g)).toHaveLength(1);
  },
);
