import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { setUpScripted } from "../../test/support/envoy/scripted-envoy-setup.ts";
import { needs } from "../../test/support/needs.ts";
import { until } from "../../test/support/wait/until.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { envoyRules } from "./core/generations.ts";
import { FIPS_CIPHER_SUITES } from "./epoch.ts";
import { ENVOY_EXIT_CODES } from "./errors.ts";
import { declareEnvoyMetrics } from "./metrics.ts";
import { startEnvoy } from "./start-envoy.ts";

afterEach(() => void vi.useRealTimers());

test("Envoy gets the whole command line, inherits the output and its exit 0 ends the agent cleanly", async () => {
  using t = setUpScripted({ runs: [{ exit: 0, afterMs: 20, prints: "hello from envoy" }] });
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
  using t = setUpScripted({
    runs: [{ exit: 1 }, { exit: 1 }, { exit: 0 }],
    flags: ["-c", "--restart-epoch", "--drain-time-s", "--service-node"],
  });
  await using envoy = await startEnvoy({ ...t.options, rules: envoyRules("1.10") });
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

test("flags that all know are passed without asking; a binary that ends at once is asked before it is started again", async () => {
  using t = setUpScripted({ runs: [{ exit: 1 }, { exit: 0 }], flags: ["-c", "--drain-time-s"] });
  await using envoy = await startEnvoy(t.options);
  await envoy.ended;
  const [first, second] = t.scripted.calls("start").map((call) => call.args ?? []);
  expect(first).toContain("--drain-strategy");
  expect(second).toEqual(["-c", join(t.work.folder, "envoy-rev1.json"), "--drain-time-s", "1"]);
  expect(t.scripted.calls("help")).toHaveLength(1);
});

test("without the guard, where no second start could do better, the binary is asked first", async () => {
  using t = setUpScripted({ runs: [{ exit: 0 }], flags: ["-c"] }, { guard: "off" });
  await using envoy = await startEnvoy(t.options);
  await envoy.ended;
  expect(t.scripted.calls("start").map((call) => call.args)).toEqual([["-c", join(t.work.folder, "envoy-rev0.json")]]);
});

test("a generation that runs in epochs is not started without hot restart", async () => {
  using t = setUpScripted({ runs: [{}] });
  const start = startEnvoy({ ...t.options, rules: envoyRules("1.7") });
  await expect(start).rejects.toThrow("generation 1.7 runs Envoy in epochs");
});

test("a crash is followed by a restart and counted; the configuration is prepared again", async () => {
  const registry = new MetricRegistry();
  using t = setUpScripted(
    { runs: [{ exit: 3 }, { signal: "SIGSEGV" }, {}] },
    { metrics: declareEnvoyMetrics(registry) },
  );
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
  using t = setUpScripted({ runs: [run] });
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
  using t = setUpScripted({ runs: [{}] });
  await using envoy = await startEnvoy({ ...t.options, binaryPath: path });
  await expect(envoy.ended).rejects.toMatchObject({
    code: "cannot-execute",
    exitCode: ENVOY_EXIT_CODES["cannot-execute"],
    message: `Envoy exited with error: ${text}`,
  });
});

test.each([
  { what: "without the right to execute", content: "#!/bin/sh\n", mode: 0o644, text: "permission denied" },
  {
    what: "of no executable format",
    content: "MZ garbage that is not a program",
    mode: 0o755,
    text: "exec format error",
  },
])("a file $what cannot be executed either", async ({ content, mode, text }) => {
  using t = setUpScripted({ runs: [{}] });
  const path = join(t.work.folder, "program");
  writeFileSync(path, content, { mode });
  await using envoy = await startEnvoy({ ...t.options, binaryPath: path });
  await expect(envoy.ended).rejects.toThrow(`Envoy exited with error: fork/exec ${path}: ${text}`);
});

test.each(["setpriv", "no-setpriv-here"])(
  "a script whose interpreter is missing cannot be executed, started through %s",
  async (setpriv) => {
    using t = setUpScripted({ runs: [{}] });
    const path = join(t.work.folder, "program");
    writeFileSync(path, "#!/no/such/interpreter\n", { mode: 0o755 });
    await using envoy = await startEnvoy({ ...t.options, binaryPath: path, setpriv, guard: "off" });
    await expect(envoy.ended).rejects.toThrow(`Envoy exited with error: fork/exec ${path}: no such file or directory`);
  },
);

test("a command line longer than the system takes is a failure of its own, not a throw", async () => {
  using t = setUpScripted({ runs: [{}] }, { guard: "off" });
  const args = { ...t.options.args, configYaml: "x".repeat(3_000_000) };
  await using envoy = await startEnvoy({ ...t.options, args });
  await expect(envoy.ended).rejects.toMatchObject({
    code: "cannot-execute",
    message: `Envoy exited with error: fork/exec ${t.scripted.path}: argument list too long`,
  });
});

test("with the guard off the first crash ends it, and the exit code is the reference's 0", async () => {
  using t = setUpScripted({ runs: [{ exit: 1, afterMs: 10 }] }, { guard: "off" });
  await using envoy = await startEnvoy(t.options);
  await expect(envoy.ended).rejects.toMatchObject({ code: "crashed", exitCode: 0 });
  expect(t.scripted.calls("start")).toHaveLength(1);
});

test("an early death shows Envoy's own reason, once it has been asked again", async () => {
  using t = setUpScripted({
    runs: [{ exit: 1 }],
    validation: { exit: 1, output: "error initializing configuration 'x': no such field: 'y'\n" },
  });
  // Early, however long the machine takes to start a program.
  vi.useFakeTimers({ toFake: ["Date"] });
  await using envoy = await startEnvoy({ ...t.options, guard: "off" });
  await expect(envoy.ended).rejects.toThrow();
  const line = t.log.lines.find((candidate) => candidate.message === "Envoy's own reason");
  expect(line).toMatchObject({ level: "error", fields: { reason: "no such field: 'y'" } });
});

test("a first configuration that cannot be prepared fails the start and leaves nothing", async () => {
  using t = setUpScripted({ runs: [{}] });
  const prepareConfig = () => Promise.reject(new Error("bad template"));
  await expect(startEnvoy({ ...t.options, prepareConfig })).rejects.toThrow("bad template");
  expect(t.scripted.calls("start")).toEqual([]);
});

test("a later configuration that cannot be prepared is a failure like any other", async () => {
  using t = setUpScripted({ runs: [{ exit: 1 }] });
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
  using t = setUpScripted({ runs: [{ exit: 0 }] });
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
  using t = setUpScripted({ runs: [{ exit: 0 }] }, { fips: true, env: { PATH: "/usr/bin", A: "1" } });
  await using envoy = await startEnvoy(t.options);
  await envoy.ended;
  expect(t.scripted.calls("start")[0]?.env).toEqual({
    PATH: "/usr/bin",
    A: "1",
    GRPC_SSL_CIPHER_SUITES: FIPS_CIPHER_SUITES,
  });
});

test("outside hot restart mode a reload says why it does nothing", async () => {
  using t = setUpScripted({ runs: [{}] });
  await using envoy = await startEnvoy(t.options);
  envoy.reload("SIGHUP");
  expect(t.log.lines.at(-1)).toMatchObject({
    message: "Nothing is reloaded: hot restart is off",
    fields: { reason: "SIGHUP" },
  });
  expect(t.scripted.calls("start").length).toBeLessThanOrEqual(1);
});

describe("as root", () => {
  beforeEach(needs("root"));

  test("it drops to the given user and group, without supplementary groups", async () => {
    using t = setUpScripted({ runs: [{}] }, { user: { uid: 1337, gid: 1337 } });
    chmodSync(t.work.folder, 0o755);
    await using envoy = await startEnvoy(t.options);
    await until("start", () => t.scripted.calls("start").length === 1);
    const status = readFileSync(`/proc/${envoy.pid}/status`, "utf8");
    expect(/^Uid:\s+(.*)$/m.exec(status)?.[1]).toBe("1337\t1337\t1337\t1337");
    expect(/^Gid:\s+(.*)$/m.exec(status)?.[1]).toBe("1337\t1337\t1337\t1337");
    expect(/^Groups:[ \t]*(.*)$/m.exec(status)?.[1]?.trim()).toBe("");
  });
});
