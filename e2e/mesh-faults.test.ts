import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type TemporaryFolder, temporaryFolder } from "../test/support/files/temporary-folder.ts";
import { helloRule, pairFile } from "../test/support/mesh/pair.ts";
import { execute, leftovers, type MeshRun, startMeshRun } from "../test/support/mesh/run.ts";
import { has, needs } from "../test/support/needs.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";
import { freePort } from "../test/support/net/free-ports.ts";
import { lifeOf } from "../test/support/process/process-life.ts";
import { PROGRAM } from "../test/support/process/program.ts";
import { until } from "../test/support/wait/until.ts";

beforeEach(needs("envoy"));

/** Both ways where the machine allows both; a test that asks for namespaces says so itself. */
const ISOLATIONS = has("netns") && has("iptables") ? (["none", "namespaces"] as const) : (["none"] as const);

async function ask(mesh: MeshRun): Promise<string> {
  const { entries } = await mesh.status();
  return (await fetchAnswer(`${entries.web}/`)).body;
}

test("a taken port is reported with who needs it, and nothing is started", async () => {
  const port = await freePort();
  const squatter = createServer().listen(port);
  await new Promise((ready) => squatter.once("listening", ready));
  await using mesh = startMeshRun({ file: pairFile({ port }), args: ["--isolation", "none"] });
  expect(await mesh.exited).toBe(1);
  expect(mesh.output()).toMatch(
    new RegExp(
      `Error: port ${port} cannot be used: 127\\.\\d+\\.0\\.1:${port} for workload web: another process listens there`,
    ),
  );
  expect(existsSync(join(mesh.stateFolder, "state.json"))).toBe(false);
  await new Promise((closed) => squatter.close(closed));
});

test("a command that is not there is reported with its place in the file, before anything is started", async () => {
  const file = "services:\n  web:\n    command: [no-such-program, --port]\n";
  await using mesh = startMeshRun({ file, args: ["--isolation", "none"] });
  expect(await mesh.exited).toBe(1);
  expect(mesh.output()).toBe(
    "Error: mesh.yaml:3:5: services.web: the command cannot be run: no-such-program is not on PATH\n",
  );
});

test("an application that keeps crashing, and one the shell does not find, leave the others alone", async () => {
  const more = "  broken: {command: exit 3, calls: []}\n  absent: {command: no-such-program, calls: []}\n";
  await using mesh = startMeshRun({ file: pairFile({ port: await freePort(), more }), args: ["--isolation", "none"] });
  await until(async () => {
    const found = existsSync(join(mesh.stateFolder, "state.json")) ? await mesh.cli("status", "-o", "json") : undefined;
    if (!found?.stdout) return `no status: ${mesh.output()}`;
    const { workloads } = JSON.parse(found.stdout) as Awaited<ReturnType<MeshRun["status"]>>;
    const loops = workloads.filter(({ app }) => app.phase === "crash-loop").map(({ name }) => name);
    return loops.length === 2 ? undefined : `in a loop: ${loops}`;
  });
  // While it is tried again it is not shown as a loop.
  await until(async () => {
    const { code, stdout } = await mesh.cli("status");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^broken +no +\S+ +crash-loop +\d+ +\d+ +\d+ +app: exit code 3$/m);
    expect(stdout).toMatch(/^absent +no .* app: exit code 127 \(command not found\): .*no-such-program/m);
  });
  expect(mesh.output()).toMatch(/broken\/app: exit code 3; starting it again in [\d.]+ s \(it keeps ending\)/);
  expect(await ask(mesh)).toMatch(/^hello /);
});

test.each(ISOLATIONS)(
  "a start that is killed in the middle leaves nothing that mesh down does not find (%s)",
  async (isolation) => {
    const file = pairFile({ port: await freePort() });
    // The moments after which things exist that were only planned before.
    for (const isReached of [
      (mesh: MeshRun) => existsSync(join(mesh.stateFolder, "state.json")),
      (mesh: MeshRun) => existsSync(join(mesh.stateFolder, "logs/control-plane.log")),
      (mesh: MeshRun) => existsSync(join(mesh.stateFolder, "logs/hello.agent.log")),
    ]) {
      await using mesh = startMeshRun({ file, args: ["--isolation", isolation] });
      await until(() => (isReached(mesh) ? undefined : `not reached: ${mesh.output()}`));
      mesh.child.kill("SIGKILL");
      await mesh.exited;
      const state = mesh.state();
      expect(await mesh.cli("down")).toMatchObject({ code: 0 });
      expect(await leftovers(state)).toEqual([]);
    }
  },
);

test("mesh up whose output no one reads any more ends in order", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mesh-pipe-"));
  writeFileSync(join(folder, "mesh.yaml"), pairFile({ port: await freePort() }));
  const name = `pipe-${process.pid}`;
  const up = `"$0" mesh up --isolation none --name ${name} --state-dir state 2>&1 | head -n 1`;
  const { stdout } = await execute(["sh", "-c", up, PROGRAM], folder);
  expect(stdout).toMatch(/^Console: http:/);
  const left = join(folder, "state", name);
  expect(existsSync(join(left, "mesh-config.yaml"))).toBe(true);
  expect(existsSync(join(left, "state.json"))).toBe(false);
  expect(existsSync(join(left, "workloads"))).toBe(false);
  rmSync(folder, { recursive: true });
});

test("mesh up does not clear a folder that is not a mesh's", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mesh-foreign-"));
  mkdirSync(join(folder, "project/config"), { recursive: true });
  writeFileSync(join(folder, "project/config/mine"), "");
  writeFileSync(join(folder, "mesh.yaml"), "name: project\nservices: {web: {command: sleep 60}}\n");
  const up = (...words: readonly string[]) => execute([PROGRAM, "mesh", "up", ...words], folder);
  expect(await up("--state-dir", ".")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("project holds config and is not the folder of a mesh"),
  });
  expect(await up("--state-dir", "state", "--name", "../project")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--name is "../project", allowed are at most 40'),
  });
  expect(existsSync(join(folder, "project/config/mine"))).toBe(true);
  rmSync(folder, { recursive: true });
});

/** In a namespace it is found by where it is; else by what it has in its environment. */
const strayOf = (isolation: string) => {
  const wrapper = isolation === "namespaces" ? "env -i " : "";
  const script = `${wrapper}setsid sh -c 'echo $$ > stray.pid; exec sleep 1000' & exec sleep 1000`;
  return `  stray: {command: "${script}", calls: []}\n`;
};

describe.each(ISOLATIONS)("with isolation %s", (isolation) => {
  const args = ["--isolation", isolation];
  let port: number;
  let folder: TemporaryFolder;
  let name: string;
  // One mesh for all tests of the group, in this order: the last ones kill it.
  let mesh: MeshRun;
  const fileWith = (more = "") => pairFile({ port, more, top: "configDir: rules" });
  const start = (file: string) => startMeshRun({ file, folder: folder.path, name, args });
  beforeAll(async () => {
    if (!has("envoy")) return;
    port = await freePort();
    name = `faults-${process.pid}-${isolation}`;
    folder = temporaryFolder({ files: { "rules/hello.yaml": helloRule("first") } });
    mesh = start(fileWith(strayOf(isolation)));
    await mesh.untilUp();
  }, 90_000);
  afterAll(async () => {
    await mesh?.[Symbol.asyncDispose]();
    folder?.[Symbol.dispose]();
  });

  test("broken YAML while running is shown with its place, and the last good configuration stays", async () => {
    const file = readFileSync(folder.file("mesh.yaml"), "utf8");
    await until(async () => ((await ask(mesh)) === "first" ? undefined : "the folder's rule is not in force"));

    mesh.write("rules/hello.yaml", `${helloRule("second")}  broken: [\n`);
    await until(async () => ((await mesh.status()).problems.length > 0 ? undefined : "no problem shown"));
    const [problem] = (await mesh.status()).problems;
    expect(problem).toMatch(/rules\/hello\.yaml:\d+:\d+: YAML: /);
    expect(mesh.output()).toContain(`error: ${problem} (the last good configuration stays)`);
    expect(await ask(mesh)).toBe("first");

    mesh.write("rules/hello.yaml", helloRule("second"));
    await until(async () => ((await ask(mesh)) === "second" ? undefined : "the mended rule is not in force"));
    expect((await mesh.status()).problems).toEqual([]);

    mesh.write("mesh.yaml", file.replace("namespace: pair", "namespce: pair"));
    await until(async () => ((await mesh.status()).problems.length > 0 ? undefined : "no problem shown"));
    expect((await mesh.status()).problems[0]).toMatch(/^mesh\.yaml:1:1: namespce: "namespce" is not known here/);
    expect(await ask(mesh)).toBe("second");
    mesh.write("mesh.yaml", file.replace("entry: true", "entry: false"));
    await until(async () =>
      (await mesh.status()).problems[0]?.includes("services have changed; pilot-agent mesh apply -f mesh.yaml takes")
        ? undefined
        : "the change of services is not reported",
    );
    mesh.write("mesh.yaml", file);
    await until(async () => ((await mesh.status()).problems.length === 0 ? undefined : "still a problem"));
    rmSync(folder.file("rules/hello.yaml"));
    await until(async () => ((await ask(mesh)) === `hello ${name}` ? undefined : "the deleted rule is still in force"));
  });

  test("a mesh that starts and ends beside it is not seen by it, and does not see it", async () => {
    await using second = startMeshRun({ file: pairFile({ port: await freePort() }), args });
    await second.untilUp();
    const state = second.state();
    expect(await Promise.all([ask(mesh), ask(second)])).toEqual([`hello ${name}`, `hello ${state.name}`]);
    await second.cli("down");
    expect(await leftovers(state)).toEqual([]);
    expect(await ask(mesh)).toBe(`hello ${name}`);
  });

  test("a killed control plane is started again at once, and no request notices", async () => {
    expect((await mesh.cli("kill", "control-plane")).code).toBe(0);
    await until(async () => {
      expect(await ask(mesh)).toBe(`hello ${name}`);
      const { controlPlane } = await mesh.status();
      return controlPlane.ready && controlPlane.restarts === 1 ? undefined : `not back: ${controlPlane.reason}`;
    });
    expect(mesh.output()).toContain("control-plane: ended by SIGKILL; starting it again in 0.1 s\n");
  });

  test("mesh exec ends as its command does, by code or by signal, and passes signals on", async () => {
    const exec = (script: string) => mesh.cli("exec", "web", "--", "sh", "-c", script);
    expect(await exec("exit 7")).toMatchObject({ code: 7 });
    expect(await exec("kill -9 $$")).toMatchObject({ code: 137 });
    const trapped = await exec("trap 'echo trapped; exit 3' TERM; kill -TERM $PPID; while :; do sleep 0.05; done");
    expect(trapped).toMatchObject({ code: 3, stdout: "trapped\n" });
  });

  test("what a removed workload has sent into the background ends with it", async () => {
    const pidFile = folder.file("stray.pid");
    await until(() => (existsSync(pidFile) && readFileSync(pidFile, "utf8") !== "" ? undefined : "not there yet"));
    const isAlive = lifeOf(Number(readFileSync(pidFile, "utf8")));
    expect(isAlive()).toBe(true);
    mesh.write("mesh.yaml", fileWith());
    expect(await mesh.cli("apply", "-f", "mesh.yaml")).toMatchObject({ code: 0, stderr: "" });
    expect(isAlive()).toBe(false);
    expect(await ask(mesh)).toBe(`hello ${name}`);
  });

  test("a mesh that was killed is cleaned up by its next start", async () => {
    const state = mesh.state();
    mesh.child.kill("SIGKILL");
    await mesh.exited;
    mesh = start(fileWith());
    await mesh.untilUp();
    expect(mesh.output()).toContain("the last run of this mesh was cut off; removing what it left");
    // Ports are the same again, and so are the names of namespaces and interfaces, and the rules for them.
    const isSame = (left: string) => /^(port|namespace|interface|rules|\/etc)/.test(left);
    expect((await leftovers(state)).filter((left) => !isSame(left))).toEqual([]);
    expect(await ask(mesh)).toBe(`hello ${name}`);
  });

  test("after SIGKILL mesh down removes everything by the state", async () => {
    const state = mesh.state();
    mesh.child.kill("SIGKILL");
    await mesh.exited;
    expect((await leftovers(state)).length).toBeGreaterThan(0);
    expect((await mesh.cli("status")).stderr).toContain("has ended without cleaning up; pilot-agent mesh down does it");
    const { code, stdout } = await mesh.cli("down");
    expect(stdout).toMatch(/^cleaned up by state: \d+ processes/);
    expect(code).toBe(0);
    expect(await leftovers(state)).toEqual([]);
    expect(existsSync(join(mesh.stateFolder, "state.json"))).toBe(false);
  });
});
