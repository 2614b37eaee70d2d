import { spawn } from "node:child_process";
import { chmodSync, existsSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { createAdminClient } from "../../src/envoy/admin-client.ts";
import { envoyRules } from "../../src/envoy/core/generations.ts";
import { startEnvoy } from "../../src/envoy/start-envoy.ts";
import { createWorkFolder, envoyOptions, freePorts, recordingLogger } from "../support/envoy/life.ts";
import { buildEnvoyOwner } from "../support/envoy/owner-bundle.ts";
import { staticBootstrap } from "../support/envoy/static-bootstrap.ts";
import { envoyPath, needs } from "../support/needs.ts";
import { fetchOk } from "../support/net/fetch-answer.ts";
import { lifeOf } from "../support/process/process-life.ts";
import { signalProcess } from "../support/process/signal-process.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("envoy"));

const isServing = (port: number) => () =>
  fetchOk(`http://127.0.0.1:${port}/`).then(
    () => true,
    () => false,
  );

async function setUp() {
  const [adminPort = 0, port = 0] = await freePorts(2);
  const work = createWorkFolder();
  const log = recordingLogger();
  const bootstrap = (extra: object = {}) =>
    work.write("envoy-rev.json", staticBootstrap({ adminPort, port, ...extra }));
  const options = envoyOptions({
    binaryPath: envoyPath() ?? "",
    log,
    adminPort,
    stdio: work.stdio,
    prepareConfig: async () => ({ path: bootstrap() }),
  });
  return { adminPort, port, work, log, options, bootstrap, [Symbol.dispose]: () => work[Symbol.dispose]() };
}

/** Starts the small agent with the given words of a shell in front, which decide where its stdout goes. */
async function startOwner(t: Awaited<ReturnType<typeof setUp>>, shell: string, extra: object = {}) {
  const owner = await buildEnvoyOwner(t.work.folder);
  const given = {
    binaryPath: envoyPath(),
    config: join(t.work.folder, "envoy-rev.json"),
    admin: t.options.admin,
    ...extra,
  };
  const target = join(t.work.folder, "owner-stdout");
  const child = spawn("/bin/sh", ["-c", shell, target, process.execPath, owner, JSON.stringify(given)], {
    stdio: ["ignore", "ignore", openSync(join(t.work.folder, "owner-stderr"), "w")],
  });
  const stopped = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return { child, stopped, output: () => readFileSync(target, "utf8"), target };
}

describe("an access log to /dev/stdout", () => {
  test.each([
    { what: "a file", shell: 'exec "$@" > "$0"' },
    { what: "a pipe", shell: '{ "$@" & echo $! > "$0.pid"; wait $!; } | cat > "$0"' },
  ])("arrives when the agent's stdout is $what", async ({ what, shell }) => {
    using t = await setUp();
    t.bootstrap({ accessLog: "/dev/stdout" });
    const owner = await startOwner(t, shell, { args: { ...t.options.args, fileFlushIntervalMs: 50 } });
    await until("Envoy", isServing(t.port));
    await until("the access log", () => owner.output().includes('"GET / HTTP/1.1" 200'));
    const pid = what === "a file" ? (owner.child.pid ?? 0) : Number(readFileSync(`${owner.target}.pid`, "utf8"));
    process.kill(pid, "SIGTERM");
    await owner.stopped;
  });
});

test.each([
  { method: "the parent-death signal", setpriv: "setpriv", hot: false },
  { method: "the watchdog", setpriv: "no-setpriv-here", hot: false },
  { method: "Envoy's own signal in hot restart mode", setpriv: "setpriv", hot: true },
])("Envoy ends with a SIGKILLed agent, by $method", async ({ setpriv, hot }) => {
  using t = await setUp();
  t.bootstrap();
  const extra = hot ? { setpriv, hotRestart: { parentShutdownMs: 1_000 } } : { setpriv };
  const owner = await startOwner(t, 'exec "$@" > "$0"', extra);
  await until("Envoy", isServing(t.port));
  const children = readFileSync(`/proc/${owner.child.pid}/task/${owner.child.pid}/children`, "utf8").trim().split(" ");
  const memory = children.flatMap(sharedMemoryOf);
  const lives = children.map((pid) => lifeOf(Number(pid)));
  owner.child.kill("SIGKILL");
  await until("the end of all", () => lives.every((isAlive) => !isAlive()));
  expect(await isServing(t.port)()).toBe(false);
  // The agent cannot remove it any more; the shell that watches over it does.
  expect(memory).toHaveLength(hot ? 1 : 0);
  await until("no shared memory", () => memory.every((path) => !existsSync(path)));
});

function sharedMemoryOf(pid: string): string[] {
  const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  const baseId = args[args.indexOf("--base-id") + 1];
  return args.includes("--base-id") ? [`/dev/shm/envoy_shared_memory_${Number(baseId) * 10}`] : [];
}

test.each(["1.6", "1.7", "1.8", "1.20", "master"])(
  "the command line of generation %s starts today's Envoy, without the flags it dropped",
  async (generation) => {
    using t = await setUp();
    const args = { ...t.options.args, componentLogLevel: "misc:error" };
    const rules = envoyRules(generation);
    await using _envoy = await startEnvoy({ ...t.options, rules, args, hotRestart: { parentShutdownMs: 60_000 } });
    await until("Envoy", isServing(t.port));
    const refused: Record<string, string> = {
      "1.6": "--max-obj-name-len",
      "1.7": "--log-format-prefix-with-location",
      "1.8": "--bootstrap-version --log-format-prefix-with-location",
    };
    const warnings = t.log.lines.filter((line) => line.message.startsWith("Envoy does not know"));
    expect(warnings.map((line) => line.fields.flags)).toEqual(generation in refused ? [refused[generation]] : []);
  },
);

test.each([
  {
    what: "a field that does not exist",
    bootstrap: { static_resources: { listeners: [{ nmae: "x" }] } },
    strict: true,
    reason: "no such field: 'nmae'",
  },
  {
    what: "a wrong value",
    bootstrap: { static_resources: { clusters: [{ name: "c", connect_timeout: "soon" }] } },
    strict: false,
    reason: "soon",
  },
])("an early death over $what names it", async ({ bootstrap, strict, reason }) => {
  using t = await setUp();
  const path = t.work.write("bad.json", bootstrap);
  // Generations before 1.17 did not tell Envoy to overlook unknown fields.
  const rules = envoyRules(strict ? "1.15" : "master");
  await using envoy = await startEnvoy({ ...t.options, rules, guard: "off", prepareConfig: async () => ({ path }) });
  await expect(envoy.ended).rejects.toMatchObject({
    code: "crashed",
    message: "Envoy exited with error: exit status 1",
  });
  const line = t.log.lines.find((candidate) => candidate.message === "Envoy's own reason");
  expect(line?.fields.reason).toContain(reason);
});

test("an early death over a port in use names the port, which a validation does not see", async () => {
  using t = await setUp();
  const squatter = createServer().listen(t.port, "127.0.0.1");
  await using envoy = await startEnvoy({ ...t.options, guard: "off" });
  await expect(envoy.ended).rejects.toMatchObject({ code: "crashed" });
  squatter.close();
  const line = t.log.lines.find((candidate) => candidate.message === "Envoy's own reason");
  expect(line?.fields.reason).toContain(`cannot bind '127.0.0.1:${t.port}': Address already in use`);
});

test("the admin client speaks to it: server info, readiness, stats, dump, drain, quit", async () => {
  using t = await setUp();
  await using envoy = await startEnvoy(t.options);
  await until("Envoy", isServing(t.port));
  const admin = createAdminClient(t.options.admin);
  expect(await admin.ready()).toEqual({ isLive: true, state: "LIVE" });
  expect(await admin.serverInfo()).toMatchObject({ state: "LIVE", restartEpoch: 0 });
  expect(await admin.stats("filter=^server.live$")).toBe("server.live: 1\n");
  expect(JSON.parse(await admin.configDump("mask=bootstrap"))).toHaveProperty("configs");
  expect(await admin.drainListeners({ inboundOnly: true, graceful: true, skipExit: true })).toBe("OK\n");
  await admin.quit();
  await envoy.ended;
  expect(t.log.texts()).toContain("info Envoy exited normally");
});

describe("as root", () => {
  beforeEach(needs("root"));

  test("another user than the agent's may open its stdout pipe for an access log", async () => {
    using t = await setUp();
    chmodSync(t.work.folder, 0o755);
    t.bootstrap({ accessLog: "/dev/stdout" });
    const shell = '{ "$@" & echo $! > "$0.pid"; wait $!; } | cat > "$0"';
    const user = { uid: 1337, gid: 1337 };
    const owner = await startOwner(t, shell, { user, args: { ...t.options.args, fileFlushIntervalMs: 50 } });
    await until("Envoy", isServing(t.port));
    await until("the access log", () => owner.output().includes('"GET / HTTP/1.1" 200'));
    signalProcess(Number(readFileSync(`${owner.target}.pid`, "utf8")), "SIGTERM");
    await owner.stopped;
  });

  test("Envoy runs as user 1337 with its configuration readable for it", async () => {
    using t = await setUp();
    chmodSync(t.work.folder, 0o755);
    await using envoy = await startEnvoy({ ...t.options, user: { uid: 1337, gid: 1337 } });
    await until("Envoy", isServing(t.port));
    expect(/^Uid:\s+1337\t1337/m.test(readFileSync(`/proc/${envoy.pid}/status`, "utf8"))).toBe(true);
  });
});
