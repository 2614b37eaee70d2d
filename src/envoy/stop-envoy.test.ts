import { spawn } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { freePorts } from "../../test/support/envoy/life.ts";
import { buildEnvoyOwner } from "../../test/support/envoy/owner-bundle.ts";
import { setUpScripted } from "../../test/support/envoy/scripted-envoy-setup.ts";
import { lifeOf } from "../../test/support/process/process-life.ts";
import { signalProcess } from "../../test/support/process/signal-process.ts";
import { until } from "../../test/support/wait/until.ts";
import { startEnvoy } from "./start-envoy.ts";

afterEach(() => void vi.useRealTimers());

test("stop ends Envoy without a drain and leaves no process; a second stop shares its result", async () => {
  const [adminPort = 0] = await freePorts(1);
  using t = setUpScripted({ runs: [{}], adminPort }, { adminPort });
  const envoy = await startEnvoy(t.options);
  await until("start", () => t.scripted.calls("start").length === 1);
  const isAlive = lifeOf(envoy.pid);
  await Promise.all([envoy.stop(), envoy.stop()]);
  await envoy.ended;
  expect(isAlive()).toBe(false);
  expect(t.scripted.calls("request")).toEqual([]);
});

test("stop while Envoy is being prepared starts nothing", async () => {
  using t = setUpScripted({ runs: [{}] }, {});
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
  using t = setUpScripted({ runs: [{ ignoresTerm: true }] });
  t.scripted.play({ runs: [{ ignoresTerm: true }] });
  const termination = { ...t.options.termination, killAfterMs: 100 };
  await using envoy = await startEnvoy({ ...t.options, termination });
  await until("start", () => t.scripted.calls("start").length === 1);
  const before = performance.now();
  await envoy.stop();
  // Not before the grace; a machine that stands still only adds to it.
  expect(performance.now() - before).toBeGreaterThanOrEqual(95);
  expect(t.log.texts()).toContain("warn Envoy did not end when asked to and is killed");
});

/** A process of its own that starts Envoy, so that it can be killed. */
async function startOwner(t: ReturnType<typeof setUpScripted>, setpriv: string) {
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
  using t = setUpScripted({ runs: [{ ignoresTerm: true }] });
  const { owner, envoyPid } = await startOwner(t, setpriv);
  const isAlive = lifeOf(envoyPid);
  expect(isAlive()).toBe(true);
  owner.kill("SIGKILL");
  await until("Envoy's end", () => !isAlive());
});

test("an admin that accepts and never answers does not hold up the termination", async () => {
  const [adminPort = 0] = await freePorts(1);
  using t = setUpScripted({ runs: [{}], adminPort, answers: { "/drain_listeners": { hangs: true } } }, { adminPort });
  const termination = { ...t.options.termination, drainMs: 10, drainRequestTimeoutMs: 5000 };
  await using envoy = await startEnvoy({ ...t.options, termination });
  await until("its admin", () => answers(adminPort));
  await envoy.terminate();
  expect(t.scripted.calls("request").map((call) => call.request)).toContain(
    "POST /drain_listeners?inboundonly&graceful",
  );
  expect(t.log.texts().join("\n")).toContain("warn Error in invoking drain listeners endpoint: Post");
});

test("every further request skips the rest of the present step, down to SIGKILL", async () => {
  const [adminPort = 0] = await freePorts(1);
  using t = setUpScripted({ runs: [{ ignoresTerm: true }], adminPort }, { adminPort });
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

test.each(["on", "off"] as const)("stop does not wait for the reasons of an early death (guard %s)", async (guard) => {
  using t = setUpScripted({ runs: [{}] });
  // An early death, however long the machine takes to start a shell.
  vi.useFakeTimers({ toFake: ["Date"] });
  // Dies at once, and never ends when it is asked why.
  const binaryPath = join(t.work.folder, "envoy.sh");
  const asked = join(t.work.folder, "asked");
  const script = `case "$*" in *--help*) exit 1 ;; *--mode*) echo > ${asked}; sleep 60 ;; esac; exit 7`;
  writeFileSync(binaryPath, `#!/bin/sh\n${script}\n`);
  chmodSync(binaryPath, 0o755);
  const envoy = await startEnvoy({ ...t.options, binaryPath, guard });
  await until("the question", () => existsSync(asked));
  await envoy.stop();
});

test("a start that is asked to end does not wait for a binary that never says which flags it has", async () => {
  using t = setUpScripted({ runs: [{}] });
  const binaryPath = join(t.work.folder, "envoy.sh");
  const asked = join(t.work.folder, "asked");
  writeFileSync(
    binaryPath,
    `#!/bin/sh\ncase "$*" in *--help*) echo > ${asked}; sleep 60 ;; esac\necho > ${asked}-run\n`,
  );
  chmodSync(binaryPath, 0o755);
  const ending = new AbortController();
  const removed: string[] = [];
  const prepareConfig = async () => ({ path: "x", remove: async () => void removed.push("x") });
  const start = startEnvoy({ ...t.options, binaryPath, prepareConfig, guard: "off", signal: ending.signal });
  const refused = expect(start).rejects.toThrow("enough");
  await until("the question", () => existsSync(asked));
  ending.abort(new Error("enough"));
  await refused;
  expect(existsSync(`${asked}-run`)).toBe(false);
  expect(removed).toEqual(["x"]);
});

test("a start that was asked to end before it began spawns nothing; asked afterwards, Envoy stays for its handle to end", async () => {
  using t = setUpScripted({ runs: [{}] });
  await expect(startEnvoy({ ...t.options, signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
  expect(t.scripted.calls("start")).toEqual([]);
  const later = new AbortController();
  await using envoy = await startEnvoy({ ...t.options, signal: later.signal });
  later.abort();
  await until("start", () => t.scripted.calls("start").length === 1);
  expect(envoy.phase).toBe("running");
});

test("a binary that leaves a process behind when asked for its flags is started all the same", async () => {
  using t = setUpScripted({ runs: [{}] });
  const binaryPath = join(t.work.folder, "envoy.sh");
  writeFileSync(
    binaryPath,
    '#!/bin/sh\nsleep 30 &\necho $! >> "$0.pid"\ncase "$*" in *--help*) exit 0 ;; esac\nexit 0\n',
  );
  chmodSync(binaryPath, 0o755);
  const envoy = await startEnvoy({ ...t.options, binaryPath, guard: "off" });
  await envoy.ended;
  for (const pid of readFileSync(`${binaryPath}.pid`, "utf8").trim().split("\n")) signalProcess(Number(pid), "SIGKILL");
  expect(t.log.texts()).toContain("info Envoy exited normally");
});
