import { type ChildProcess, execFile, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test } from "vitest";
import type { MeshState } from "../src/mesh/state/mesh-state.ts";
import { leftovers } from "../test/support/mesh/run.ts";
import { needs } from "../test/support/needs.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";
import { signalGroup } from "../test/support/process/signal-process.ts";
import { skipWith } from "../test/support/skip-with.ts";
import { until } from "../test/support/wait/until.ts";

const root = resolve(import.meta.dirname, "..");
const exec = promisify(execFile);

/** Without what the npm that runs these tests has set for itself, its cache folder among them. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));

interface Person extends AsyncDisposable {
  readonly home: string;
  /** Undefined: whoever runs the test. */
  readonly owner?: string;
  /** Words in front of a command that make it theirs. */
  readonly wrapper: readonly string[];
}

/** Puts account files of its own in place of the machine's, then runs the command. */
const WITH_ACCOUNTS = 'mount --bind "$1" /etc/passwd && mount --bind "$2" /etc/group && shift 2 && exec "$@"';

/**
 * An ordinary user, known to the processes of the test alone: accounts that come and go on the machine would replace files that other
 * tests have mounted over.
 */
async function createUser(): Promise<Person> {
  const home = mkdtempSync(join(tmpdir(), "mesh-start-"));
  const uid = 60_000 + (process.pid % 5_000);
  const [passwd, group] = [join(home, "passwd"), join(home, "group")];
  writeFileSync(passwd, `${readFileSync("/etc/passwd", "utf8")}pamesh:x:${uid}:${uid}::${home}:/bin/sh\n`);
  writeFileSync(group, `${readFileSync("/etc/group", "utf8")}pamesh:x:${uid}:\n`);
  const accounts = ["unshare", "--mount", "sh", "-c", WITH_ACCOUNTS, "sh", passwd, group];
  chownSync(home, uid, uid);
  return {
    home,
    owner: `${uid}:${uid}`,
    wrapper: [...accounts, "setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "env", `HOME=${home}`],
    async [Symbol.asyncDispose]() {
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function administrator(): Person {
  const home = mkdtempSync(join(tmpdir(), "mesh-start-"));
  return {
    home,
    wrapper: [],
    async [Symbol.asyncDispose]() {
      rmSync(home, { recursive: true, force: true });
    },
  };
}

interface Started extends AsyncDisposable {
  readonly child: ChildProcess;
  output(): string;
  /** How npm ended, if it did, and what was written last. */
  state(): string;
}

/** `npm start` with a group of its own, as a terminal would give it. */
function npmStart({ wrapper, home }: Person, clone: string): Started {
  const log = join(home, "output");
  const descriptor = openSync(log, "w", 0o666);
  const [program = "", ...words] = [...wrapper, "npm", "start"];
  const child = spawn(program, words, {
    cwd: clone,
    detached: true,
    stdio: ["ignore", descriptor, descriptor],
    env: environment,
  });
  closeSync(descriptor);
  const output = () => readFileSync(log, "utf8");
  return {
    child,
    output,
    state: () => `npm ended with ${child.exitCode ?? child.signalCode}; ${output().slice(-300)}`,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = new Promise((done) => child.once("exit", done));
      signalGroup(child.pid, "SIGINT");
      await exited;
    },
  };
}

/** What `npm ci` would install (clean-clone.slow.test.ts runs it); linked where one file system holds both; it is only read. */
async function linkPackages(clone: string): Promise<void> {
  const [from, to] = [join(root, "node_modules"), join(clone, "node_modules")];
  await exec("cp", ["-a", "--link", from, to]).catch(async () => {
    rmSync(to, { recursive: true, force: true });
    await exec("cp", ["-a", from, to]);
  });
}

async function split(url: string, requests: number): Promise<number> {
  let second = 0;
  for (let asked = 0; asked < requests; asked += 1) {
    const { status, body } = await fetchAnswer(`${url}/`);
    expect(status).toBe(200);
    if ((JSON.parse(body) as { catalogue: { version: string } }).catalogue.version === "v2") second += 1;
  }
  return second / requests;
}

const PEOPLE = [
  {
    who: "root",
    make: async () => administrator(),
    isolation: "a network namespace per workload",
    lacks: needs("envoy", "netns", "iptables", "setpriv"),
  },
  { who: "an ordinary user", make: createUser, isolation: "no capture", lacks: needs("envoy", "tmpfs", "setpriv") },
];

describe.each(PEOPLE)("as $who", ({ make, isolation, lacks }) => {
  beforeEach((context) => {
    lacks(context);
    if (!existsSync(join(root, ".git"))) skipWith(context, "notice: not a git checkout (git clone it)");
  });

  test("npm start in a fresh clone gives a mesh, and three things to try that work", async () => {
    await using person = await make();
    chmodSync(person.home, 0o755);
    const clone = join(person.home, "pilot-agent");
    const run = (...words: readonly string[]) => {
      const [program = "", ...rest] = [...person.wrapper, ...words];
      return exec(program, rest, { cwd: clone, maxBuffer: 64 * 1024 * 1024, env: environment });
    };
    await exec("git", ["clone", "--quiet", root, clone]);
    // Git refuses to clone from a folder of another party.
    if (person.owner !== undefined) await exec("chown", ["-R", person.owner, clone]);
    await linkPackages(clone);
    await run("npm", "run", "build");

    await using started = npmStart(person, clone);
    await until(() => (started.output().includes("Ctrl-C ends everything") ? undefined : started.output()), 180_000);
    expect(started.output()).toContain(isolation);
    const url = /front: (http:\S+)\//.exec(started.output())?.[1] ?? "";
    const status = JSON.parse((await run("./bin/pilot-agent", "mesh", "status", "-o", "json")).stdout) as {
      stateFolder: string;
    };
    const state = JSON.parse(readFileSync(join(status.stateFolder, "state.json"), "utf8")) as MeshState;
    expect(await split(url, 50)).toBe(0);

    const commands =
      started
        .output()
        .match(/^ {7}\S.*$/gm)
        ?.map((line) => line.trim()) ?? [];
    expect(commands).toHaveLength(4);
    // Right after the kill the last one says, by its exit code too, that the front is not ready.
    for (const command of commands)
      await run("sh", "-c", command).catch((failed: { stdout: string }) =>
        expect(failed.stdout).toContain("front          no"),
      );
    await until(async () => {
      const { stdout } = await run("./bin/pilot-agent", "mesh", "status").catch((failed: { stdout: string }) => failed);
      return stdout.includes("front          yes") ? undefined : stdout;
    });
    await until(async () => ((await split(url, 20)) > 0 ? undefined : "not shifted"));
    expect(Math.abs((await split(url, 300)) - 0.2)).toBeLessThan(0.12);
    await until(async () => {
      const { body } = await fetchAnswer(`${url}/`);
      return body.includes("fault filter abort") ? undefined : "no fault";
    });

    signalGroup(started.child.pid, "SIGINT");
    await until(async () => (await leftovers(state)).join(", ") || undefined, 60_000);
    // Last it removes its folders, for which a disk with installations to write may take its time.
    await until(() => (started.output().includes("mesh shop is down") ? undefined : started.state()), 120_000);
    // What stays on purpose: logs and the root certificate.
    rmSync(status.stateFolder, { recursive: true, force: true });
  });
});
