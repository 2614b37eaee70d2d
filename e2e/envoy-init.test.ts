import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { createWorkFolder, freePorts } from "../test/support/envoy/life.ts";
import { buildEnvoyOwner } from "../test/support/envoy/owner-bundle.ts";
import { staticBootstrap } from "../test/support/envoy/static-bootstrap.ts";
import { envoyPath, needs } from "../test/support/needs.ts";
import { fetchOk } from "../test/support/net/fetch-answer.ts";
import { signalProcess } from "../test/support/process/signal-process.ts";
import { until } from "../test/support/wait/until.ts";

/** setpriv comes with unshare. */
beforeEach(needs("root", "setpriv"));

const INIT = join(import.meta.dirname, "../bin/pilot-agent-init");
const SHELLS = ["dash", "bash"].filter((shell) => existsSync(`/bin/${shell}`));

interface Contained {
  readonly exit: Promise<number | null>;
  /** Names and states of the processes inside, process 1 left out. */
  processes(): string[];
  /** To process 1. */
  signal(name: NodeJS.Signals): void;
}

/** Runs the program under the init as process 1 of a PID namespace of its own. */
function startContained(shell: string, program: readonly string[], input = ""): Contained {
  const child = spawn(
    "unshare",
    ["--pid", "--fork", "--mount-proc", "--kill-child", `/bin/${shell}`, INIT, ...program],
    {
      stdio: ["pipe", "ignore", "ignore"],
    },
  );
  // A program may end without having read its input; its exit code is what is asked for.
  child.stdin?.on("error", () => undefined).end(input);
  const exit = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const initPid = () => childrenOf(child.pid ?? 0)[0] ?? 0;
  return { exit, signal: (name) => signalProcess(initPid(), name), processes: () => namesInside(initPid()) };
}

function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return text === "" ? [] : text.split(" ").map(Number);
  } catch {
    return [];
  }
}

function namesInside(initPid: number): string[] {
  const home = namespaceOf(initPid);
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== initPid && namespaceOf(Number(pid)) === home)
    .flatMap((pid) => nameAndState(Number(pid)));
}

function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
}

/** Empty when the process has gone since it was listed. */
function nameAndState(pid: number): string[] {
  try {
    const [, name, state] = /\((.*)\) (.)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    return [`${name} ${state}`];
  } catch {
    return [];
  }
}

test.each(SHELLS)("%s collects orphans, passes a signal on and the exit code back", async (shell) => {
  using work = createWorkFolder();
  const [ready, release] = [join(work.folder, "ready"), join(work.folder, "release")];
  // Two grandchildren lose their parent at once and end when they are let go.
  const program = `
    const { spawn } = require("node:child_process");
    const { writeFileSync } = require("node:fs");
    process.on("SIGTERM", () => process.exit(7));
    const waits = "until [ -e ${release} ]; do sleep 0.05; done &";
    spawn("/bin/sh", ["-c", waits + waits + " exit 0"], { stdio: "ignore" })
      .on("exit", () => writeFileSync(${JSON.stringify(ready)}, "x"));
    setInterval(() => undefined, 1000);
  `;
  const contained = startContained(shell, [process.execPath, "-e", program]);
  await until("the orphans", () => existsSync(ready));
  const orphans = () => contained.processes().filter((name) => /^(sh|sleep) /.test(name));
  expect(orphans().length).toBeGreaterThan(1);
  writeFileSync(release, "");
  await until("their end", () => orphans().length === 0);
  contained.signal("SIGTERM");
  expect(await contained.exit).toBe(7);
});

test.each(SHELLS)("%s reports a killed program as 137 and one that cannot run as 127", async (shell) => {
  const killed = startContained(shell, ["/bin/sh", "-c", "kill -9 $$"]);
  expect(await killed.exit).toBe(137);
  const missing = startContained(shell, ["/no/such/program"]);
  expect(await missing.exit).toBe(127);
});

test.each(SHELLS)("%s leaves the program its input", async (shell) => {
  using work = createWorkFolder();
  const target = join(work.folder, "copy");
  const contained = startContained(shell, ["/bin/sh", "-c", 'cat > "$0"', target], "some input");
  expect(await contained.exit).toBe(0);
  expect(readFileSync(target, "utf8")).toBe("some input");
});

test("as process 1 the agent runs the real Envoy, ends it on SIGTERM and leaves no zombie while it runs", async (context) => {
  needs("envoy")(context);
  using work = createWorkFolder();
  const [adminPort = 0, port = 0] = await freePorts(2);
  const config = work.write("envoy-rev.json", staticBootstrap({ adminPort, port }));
  const owner = await buildEnvoyOwner(work.folder);
  const given = { binaryPath: envoyPath(), config, admin: { host: "127.0.0.1", port: adminPort } };
  const contained = startContained("sh", [process.execPath, owner, JSON.stringify(given)]);
  await until("Envoy", () =>
    fetchOk(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    ),
  );
  expect(contained.processes().filter((name) => name.endsWith(" Z"))).toEqual([]);
  contained.signal("SIGTERM");
  expect(await contained.exit).toBe(0);
  await expect(fetchOk(`http://127.0.0.1:${port}/`)).rejects.toThrow();
});
