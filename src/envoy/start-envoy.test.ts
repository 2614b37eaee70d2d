import { spawn } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import {
  createWorkFolder,
  envoyOptions,
  freePorts,
  isAlive,
  recordingLogger,
  until,
} from "../../test/support/envoy-life.ts";
import { buildEnvoyOwner } from "../../test/support/envoy-owner-bundle.ts";
import { needs } from "../../test/support/needs.ts";
import { createScriptedEnvoy, type ScriptedEnvoyOptions } from "../../test/support/scripted-envoy.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { DEFAULT_RESTART_BUDGET } from "./core/restart-budget.ts";
import type { EnvoyOptions } from "./envoy-options.ts";
import { FIPS_CIPHER_SUITES } from "./epoch.ts";
import { ENVOY_EXIT_CODES } from "./errors.ts";
import { declareEnvoyMetrics } from "./metrics.ts";
import { startEnvoy } from "./start-envoy.ts";

/** The real budget with shorter pauses; its own numbers are the business of its table test. */
const FAST_BUDGET = {
  ...DEFAULT_RESTART_BUDGET,
  backoff: { ...DEFAULT_RESTART_BUDGET.backoff, initialMs: 1, maxMs: 4 },
};

function setUp(script: ScriptedEnvoyOptions, overrides: Partial<EnvoyOptions> & { adminPort?: number } = {}) {
  const scripted = createScriptedEnvoy(script);
  const work = createWorkFolder();
  const log = recordingLogger();
  let written = 0;
  const options = envoyOptions({
    binaryPath: scripted.path,
    prepareConfig: async () => ({ path: work.write(`envoy-rev${written++}.json`, {}) }),
    log,
    stdio: work.stdio,
    budget: FAST_BUDGET,
    ...overrides,
  });
  return {
    scripted,
    work,
    log,
    options,
    [Symbol.dispose]: () => {
      scripted[Symbol.dispose]();
      work[Symbol.dispose]();
    },
  };
}

test("Envoy gets the whole command line, inherits the output and its exit 0 ends the agent cleanly", async () => {
  using t = setUp({ runs: [{ exit: 0, afterMs: 20, prints: "hello from envoy" }] });
  await using envoy = await startEnvoy(t.options);
  await envoy.ended;
  expect(t.work.stdout()).toBe("hello from envoy");
  const [start] = t.scripted.calls("start");
  expect(start?.args?.slice(0, 4)).toEqual(["-c", join(t.work.folder, "envoy-rev0.json"), "--drain-time-s", "1"]);
  expect(t.log.texts()).toContain(`info Envoy command: [${start?.args?.join(" ")}]`);
  expect(t.log.texts()).toContain("info Envoy exited normally");
  expect(envoy.phase).toBe("ended");
});

test("flags the binary does not know are left out with one warning, however often it starts", async () => {
  using t = setUp({
    runs: [{ exit: 1 }, { exit: 1 }, { exit: 0 }],
    flags: ["-c", "--restart-epoch", "--drain-time-s", "--service-node"],
  });
  await using envoy = await startEnvoy({ ...t.options, args: { ...t.options.args, generation: "1.10" } });
  await envoy.ended;
  const config = (index: number) => join(t.work.folder, `envoy-rev${index}.json`);
  expect(t.scripted.calls("start").map((call) => call.args)).toEqual(
    [0, 1, 2].map((index) => [
      "-c",
      config(index),
      "--restart-epoch",
      "0",
      "--drain-time-s",
      "1",
      "--service-node",
      "",
    ]),
  );
  expect(t.scripted.calls("help")).toHaveLength(1);
  const warnings = t.log.lines.filter((line) => line.message.startsWith("Envoy does not know"));
  expect(warnings.map((line) => line.fields.flags)).toEqual([
    "--drain-strategy --parent-shutdown-time-s --service-cluster --local-address-ip-version --bootstrap-version --disable-hot-restart --log-format -l --concurrency",
  ]);
});

test("a generation that runs in epochs is not started without hot restart", async () => {
  using t = setUp({ runs: [{}] });
  const start = startEnvoy({ ...t.options, args: { ...t.options.args, generation: "1.7" } });
  await expect(start).rejects.toThrow("generation 1.7 runs Envoy in epochs");
});

test("a crash is followed by a restart and counted; the configuration is prepared anew", async () => {
  const registry = new MetricRegistry();
  using t = setUp({ runs: [{ exit: 3 }, { signal: "SIGSEGV" }, {}] }, { metrics: declareEnvoyMetrics(registry) });
  await using envoy = await startEnvoy(t.options);
  await until("third start", () => t.scripted.calls("start").length === 3);
  expect(existsSync(join(t.work.folder, "envoy-rev2.json"))).toBe(true);
  expect(t.log.texts()).toContain("error Envoy exited with error: exit status 3");
  expect(t.log.texts()).toContain("error Envoy exited with error: signal: segmentation fault");
  expect(registry.render()).toContain('istio_agent_envoy_failures_total{kind="crashed"} 2');
  expect(registry.render()).toContain("istio_agent_envoy_restarts_total 2");
  expect(envoy.phase).toBe("running");
});

test.each([
  { what: "crashes", run: { exit: 1 }, code: "crashed" as const, text: "exit status 1" },
  { what: "is killed", run: { signal: "SIGKILL" as const }, code: "killed" as const, text: "signal: killed" },
])("an Envoy that always $what uses up the budget: ten starts, then its exit code", async ({ run, code, text }) => {
  using t = setUp({ runs: [run] });
  await using envoy = await startEnvoy(t.options);
  await expect(envoy.ended).rejects.toMatchObject({
    code,
    exitCode: ENVOY_EXIT_CODES[code],
    message: `Envoy exited with error: ${text}`,
  });
  expect(t.scripted.calls("start")).toHaveLength(10);
  const hint = "warn Envoy may have been out of memory killed. Check memory usage and limits.";
  expect(t.log.texts().filter((line) => line === hint)).toHaveLength(code === "killed" ? 10 : 0);
});

test.each([
  { what: "is missing", path: "/nowhere/envoy", text: "fork/exec /nowhere/envoy: no such file or directory" },
  { what: "is not on PATH", path: "no-such-envoy", text: 'exec: "no-such-envoy": executable file not found in $PATH' },
  { what: "is a folder", path: "/usr", text: "fork/exec /usr: permission denied" },
])("a binary that $what ends with the code of its own", async ({ path, text }) => {
  using t = setUp({ runs: [{}] });
  await using envoy = await startEnvoy({ ...t.options, binaryPath: path });
  await expect(envoy.ended).rejects.toMatchObject({
    code: "cannot-execute",
    exitCode: ENVOY_EXIT_CODES["cannot-execute"],
    message: `Envoy exited with error: ${text}`,
  });
});

test.each([
  { what: "without the right to execute", content: "#!/bin/sh\n", mode: 0o644, text: "permission denied" },
  { what: "of no executable format", content: "MZ garbage that is no program", mode: 0o755, text: "exec format error" },
])("a file $what cannot be executed either", async ({ content, mode, text }) => {
  using t = setUp({ runs: [{}] });
  const path = join(t.work.folder, "program");
  writeFileSync(path, content, { mode });
  await using envoy = await startEnvoy({ ...t.options, binaryPath: path });
  await expect(envoy.ended).rejects.toThrow(`Envoy exited with error: fork/exec ${path}: ${text}`);
});

test.each(["setpriv", "no-setpriv-here"])(
  "a script whose interpreter is missing cannot be executed, started through %s",
  async (setpriv) => {
    using t = setUp({ runs: [{}] });
    const path = join(t.work.folder, "program");
    writeFileSync(path, "#!/no/such/interpreter\n", { mode: 0o755 });
    await using envoy = await startEnvoy({ ...t.options, binaryPath: path, setpriv, guard: "off" });
    await expect(envoy.ended).rejects.toThrow(`Envoy exited with error: fork/exec ${path}: no such file or directory`);
  },
);

test("a command line longer than the system takes is a failure of its own, not a throw", async () => {
  using t = setUp({ runs: [{}] }, { guard: "off" });
  const args = { ...t.options.args, configYaml: "x".repeat(3_000_000) };
  await using envoy = await startEnvoy({ ...t.options, args });
  await expect(envoy.ended).rejects.toMatchObject({
    code: "cannot-execute",
    message: `Envoy exited with error: fork/exec ${t.scripted.path}: argument list too long`,
  });
});

test("with the guard off the first crash ends it, and the exit code is the reference's 0", async () => {
  using t = setUp({ runs: [{ exit: 1, afterMs: 10 }] }, { guard: "off" });
  await using envoy = await startEnvoy(t.options);
  await expect(envoy.ended).rejects.toMatchObject({ code: "crashed", exitCode: 0 });
  expect(t.scripted.calls("start")).toHaveLength(1);
});

test("an early death shows Envoy's own reason, once it has been asked again", async () => {
  using t = setUp({
    runs: [{ exit: 1 }],
    validation: { exit: 1, output: "error initializing configuration 'x': no such field: 'y'\n" },
  });
  await using envoy = await startEnvoy({ ...t.options, guard: "off" });
  await expect(envoy.ended).rejects.toThrow();
  const line = t.log.lines.find((candidate) => candidate.message === "Envoy's own reason");
  expect(line).toMatchObject({ level: "error", fields: { reason: "no such field: 'y'" } });
});

test("a first configuration that cannot be prepared fails the start and leaves nothing", async () => {
  using t = setUp({ runs: [{}] });
  const prepareConfig = () => Promise.reject(new Error("bad template"));
  await expect(startEnvoy({ ...t.options, prepareConfig })).rejects.toThrow("bad template");
  expect(t.scripted.calls("start")).toEqual([]);
});

test("a later configuration that cannot be prepared is a failure like any other", async () => {
  using t = setUp({ runs: [{ exit: 1 }] });
  let calls = 0;
  const prepareConfig = async () => {
    if (calls++ > 0) throw new Error("disk full");
    return { path: "x" };
  };
  await using envoy = await startEnvoy({ ...t.options, prepareConfig });
  await expect(envoy.ended).rejects.toThrow("Envoy exited with error: disk full");
  expect(calls).toBe(10);
});

test("the configuration file is removed after the exit; a failure to do so only warns", async () => {
  using t = setUp({ runs: [{ exit: 0 }] });
  let removed = 0;
  const remove = async () => {
    removed++;
    throw new Error("read-only");
  };
  await using envoy = await startEnvoy({ ...t.options, prepareConfig: async () => ({ path: "f.json", remove }) });
  await envoy.ended;
  expect(removed).toBe(1);
  expect(t.log.texts()).toContain("warn Failed to delete config file f.json: read-only");
});

test("FIPS adds its cipher list to the environment and nothing else changes", async () => {
  using t = setUp({ runs: [{ exit: 0 }] }, { fips: true, env: { PATH: "/usr/bin", A: "1" } });
  await using envoy = await startEnvoy(t.options);
  await envoy.ended;
  expect(t.scripted.calls("start")[0]?.env).toEqual({
    PATH: "/usr/bin",
    A: "1",
    GRPC_SSL_CIPHER_SUITES: FIPS_CIPHER_SUITES,
  });
});

test("outside hot restart mode a reload says why it does nothing", async () => {
  using t = setUp({ runs: [{}] });
  await using envoy = await startEnvoy(t.options);
  envoy.reload("SIGHUP");
  expect(t.log.lines.at(-1)).toMatchObject({
    message: "Nothing is reloaded: hot restart is off",
    fields: { reason: "SIGHUP" },
  });
  expect(t.scripted.calls("start").length).toBeLessThanOrEqual(1);
});

test("stop ends Envoy without a drain and leaves no process; a second stop shares its result", async () => {
  const [adminPort = 0] = await freePorts(1);
  using t = setUp({ runs: [{}], adminPort }, { adminPort });
  const envoy = await startEnvoy(t.options);
  await until("start", () => t.scripted.calls("start").length === 1);
  const pid = envoy.pid ?? 0;
  await Promise.all([envoy.stop(), envoy.stop()]);
  await envoy.ended;
  expect(isAlive(pid)).toBe(false);
  expect(t.scripted.calls("request")).toEqual([]);
});

test("stop while Envoy is being prepared starts nothing", async () => {
  using t = setUp({ runs: [{}] }, {});
  let release: (file: { path: string }) => void = () => undefined;
  const prepared = new Promise<{ path: string }>((resolve) => {
    release = resolve;
  });
  let calls = 0;
  const prepareConfig = () => (calls++ === 0 ? Promise.resolve({ path: "x" }) : prepared);
  t.scripted.play({ runs: [{ exit: 1 }] });
  const envoy = await startEnvoy({ ...t.options, prepareConfig });
  await until("second preparation", () => calls === 2);
  const stopped = envoy.stop();
  release({ path: "x" });
  await stopped;
  expect(t.scripted.calls("start")).toHaveLength(1);
});

test("an Envoy that ignores SIGTERM is killed after the grace", async () => {
  using t = setUp({ runs: [{ ignoresTerm: true }] });
  t.scripted.play({ runs: [{ ignoresTerm: true }] });
  const termination = { ...t.options.termination, killAfterMs: 100 };
  await using envoy = await startEnvoy({ ...t.options, termination });
  await until("start", () => t.scripted.calls("start").length === 1);
  const before = Date.now();
  await envoy.stop();
  expect(Date.now() - before).toBeGreaterThanOrEqual(95);
  expect(t.log.texts()).toContain("warn Envoy did not end when asked to and is killed");
});

/** A process of its own that starts Envoy, so that it can be killed. */
async function startOwner(t: ReturnType<typeof setUp>, setpriv: string) {
  const options = JSON.stringify({ binaryPath: t.scripted.path, setpriv, config: t.work.write("c.json", {}) });
  const outfile = await buildEnvoyOwner(t.work.folder);
  const owner = spawn(process.execPath, [outfile, options], { stdio: "ignore" });
  await until("Envoy's start", () => t.scripted.calls("start").length === 1);
  return { owner, envoyPid: t.scripted.calls("start")[0]?.pid ?? 0 };
}

test.each([
  { method: "the parent-death signal", setpriv: "setpriv" },
  { method: "the watchdog", setpriv: "no-setpriv-here" },
])("Envoy does not outlive a killed agent, by $method", async ({ setpriv }) => {
  using t = setUp({ runs: [{ ignoresTerm: true }] });
  const { owner, envoyPid } = await startOwner(t, setpriv);
  expect(isAlive(envoyPid)).toBe(true);
  owner.kill("SIGKILL");
  await until("Envoy's end", () => !isAlive(envoyPid), 3_000);
});

describe("as root", () => {
  beforeEach(needs("root"));

  test("it drops to the given user and group, without supplementary groups", async () => {
    using t = setUp({ runs: [{}] }, { user: { uid: 1337, gid: 1337 } });
    chmodSync(t.work.folder, 0o755);
    await using envoy = await startEnvoy(t.options);
    await until("start", () => t.scripted.calls("start").length === 1);
    const status = readFileSync(`/proc/${envoy.pid}/status`, "utf8");
    expect(/^Uid:\s+(.*)$/m.exec(status)?.[1]).toBe("1337\t1337\t1337\t1337");
    expect(/^Gid:\s+(.*)$/m.exec(status)?.[1]).toBe("1337\t1337\t1337\t1337");
    expect(/^Groups:[ \t]*(.*)$/m.exec(status)?.[1]?.trim()).toBe("");
  });
});

test("an admin that accepts and never answers does not hold up the termination", async () => {
  const [adminPort = 0] = await freePorts(1);
  using t = setUp({ runs: [{}], adminPort, answers: { "/drain_listeners": { hangs: true } } }, { adminPort });
  const termination = { ...t.options.termination, drainMs: 10, drainRequestTimeoutMs: 100 };
  await using envoy = await startEnvoy({ ...t.options, termination });
  await until("its admin", () => answers(adminPort));
  const before = Date.now();
  await envoy.terminate();
  expect(Date.now() - before).toBeLessThan(2_000);
  expect(t.scripted.calls("request").map((call) => call.request)).toContain(
    "POST /drain_listeners?inboundonly&graceful",
  );
  expect(t.log.texts().join("\n")).toContain("warn Error in invoking drain listeners endpoint: Post");
});

test("every further request skips the rest of the present step, down to SIGKILL", async () => {
  const [adminPort = 0] = await freePorts(1);
  using t = setUp({ runs: [{ ignoresTerm: true }], adminPort }, { adminPort });
  const termination = { ...t.options.termination, drainMs: 60_000, killAfterMs: 60_000 };
  await using envoy = await startEnvoy({ ...t.options, termination });
  await until("its admin", () => answers(adminPort));
  const done = envoy.terminate();
  expect(envoy.phase).toBe("draining");
  void envoy.terminate();
  expect(envoy.phase).toBe("terminating");
  void envoy.terminate();
  expect(envoy.phase).toBe("killing");
  await done;
  await envoy.ended;
});

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
