import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { runProgram } from "../src/capture/run-program.ts";
import { pairFile } from "../test/support/mesh/pair.ts";
import { leftovers, type MeshRun, startMeshRun } from "../test/support/mesh/run.ts";
import { has, needs, type Requirement } from "../test/support/needs.ts";
import { fetchAnswer, fetchOk } from "../test/support/net/fetch-answer.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import { startLoad } from "../test/support/net/start-load.ts";
import { lifeOf } from "../test/support/process/process-life.ts";
import { until } from "../test/support/wait/until.ts";

const MODES: readonly { readonly isolation: "namespaces" | "none"; readonly requires: readonly Requirement[] }[] = [
  { isolation: "namespaces", requires: ["envoy", "netns", "iptables", "setpriv"] },
  { isolation: "none", requires: ["envoy"] },
];

const SERVE = 'require("http").createServer((_, out) => out.end(process.env.WORD + " " + process.env.MESH_WORKLOAD))';

/** `web` passes on what one of the workloads of `hello` says, with a word that the file gives. */
function wordFile(port: number, options: { word: string; replicas?: number; command?: string; more?: string }): string {
  const {
    word,
    replicas = 3,
    command = `exec node -e '${SERVE}.listen(process.env.PORT, process.env.HOST)'`,
    more,
  } = options;
  const [head = ""] = pairFile({ port }).split("  hello:\n");
  return `${head}  hello:
    port: ${port}
    calls: []
    replicas: ${replicas}
    env: {WORD: ${word}}
    command: ${command}
${more ?? ""}`;
}

const IDLE = "  idle: {command: exec sleep 1000, calls: []}\n";

describe.each(MODES)("mesh apply of a mesh file with isolation $isolation", ({ isolation, requires }) => {
  let mesh: MeshRun;
  let url: string;
  let port: number;
  beforeAll(async () => {
    if (!requires.every(has)) return;
    [port = 0] = await freePorts(1);
    mesh = startMeshRun({ file: wordFile(port, { word: "one", more: IDLE }), args: ["--isolation", isolation] });
    await mesh.untilUp();
    url = `${(await mesh.status()).entries.web}/`;
  }, 90_000);
  afterAll(async () => {
    if (requires.every(has)) await mesh[Symbol.asyncDispose]();
  });
  beforeEach(needs(...requires));

  /** Process numbers of everything a workload consists of. */
  async function pids(name: string): Promise<readonly (number | undefined)[]> {
    const found = (await mesh.status()).workloads.find((each) => each.name === name);
    const parts = [found?.app, found?.agent].map((part) => (part?.phase === "running" ? part.pid : undefined));
    return [...parts, found?.envoyPid];
  }

  async function untilAnswers(...wanted: readonly string[]): Promise<void> {
    await until(async () => {
      const answers = await Promise.all(Array.from({ length: 40 }, () => fetchAnswer(url)));
      const seen = [...new Set(answers.map(({ body }) => body))].sort().join(", ");
      return seen === wanted.join(", ") ? undefined : seen;
    });
  }

  test("a dry run says what would happen, and nothing does", async () => {
    const before = await pids("hello-1");
    mesh.write("next.yaml", wordFile(port, { word: "two", replicas: 2, more: "  late: {command: exec sleep 1000}\n" }));
    const { code, stdout, stderr } = await mesh.cli("apply", "--dry-run", "-f", "next.yaml");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toBe(`  + late     starts
  ~ hello-1  restarts: env
  ~ hello-2  restarts: env
  - hello-3  ends
  - idle     ends
  1 of 5 workloads stay as they are
`);
    expect(await pids("hello-1")).toEqual(before);
    expect((await mesh.status()).workloads.length).toBe(5);
  });

  test("new workloads start, changed ones restart in turn, others end: no request is lost, and who has not changed goes on", async () => {
    const [web, hello, ...gone] = await Promise.all(["web", "hello-2", "hello-3", "idle"].map(pids));
    const lives = gone.flat().map(lifeOf);
    const spaces = mesh.state().namespaces;
    const more = "  late: {command: exec sleep 1000, calls: [hello]}\n";
    mesh.write("mesh.yaml", wordFile(port, { word: "two", replicas: 2, more }));
    const load = startLoad(() => fetchOk(url), { lanes: 4, pauseMs: 10 });
    const { code, stdout, stderr } = await mesh.cli("apply", "-f", "mesh.yaml");
    await load.stop();
    expect([code, stderr]).toEqual([0, ""]);
    expect(load.failures).toEqual([]);
    expect(load.requests).toBeGreaterThan(50);
    expect([...load.answers.keys()].filter((answer) => answer.startsWith("one")).length).toBeGreaterThan(0);
    expect([...load.answers.keys()].filter((answer) => answer.startsWith("two")).length).toBeGreaterThan(0);
    const steps = stdout.split("\n").slice(-7);
    expect([...steps.slice(0, 3), ...steps.slice(3, 5).sort(), ...steps.slice(5)]).toEqual([
      "late is started",
      "hello-1 is restarted",
      "hello-2 is restarted",
      "hello-3 is ended",
      "idle is ended",
      expect.stringMatching(/^mesh \S+ is as mesh\.yaml says$/),
      "",
    ]);
    expect(mesh.output()).toContain("hello-2 is restarted\n");
    expect(await pids("web")).toEqual(web);
    for (const [index, pid] of (await pids("hello-2")).entries()) expect(pid).not.toBe(hello?.[index]);
    expect(lives.filter((isAlive) => isAlive())).toEqual([]);
    const status = await mesh.status();
    expect(status.workloads.map(({ name, ready }) => `${name} ${ready}`)).toEqual(
      ["web", "hello-1", "hello-2", "late"].map((name) => `${name} true`),
    );
    if (isolation === "namespaces") {
      expect(mesh.state().namespaces.length).toBe(spaces.length - 1);
      // Everybody's way to the control plane: where ports came and went, it has kept the address of its own.
      const { stdout: link } = await runProgram({
        program: "ip",
        args: ["-n", spaces[0] ?? "", "link", "show", "bridge0"],
      });
      expect(link).toContain("link/ether 02:00:00:00:00:01");
    }
    await untilAnswers("two hello-1", "two hello-2");
    // The new one is a member: what it calls, it reaches.
    const call = await mesh.cli("exec", "late", "--", "sh", "-c", 'curl -s -m 30 "$HELLO_URL"');
    expect(call.stdout).toMatch(/^two hello-\d$/);
    await until(async () => (await mesh.status()).problems[0]);
  });

  test("a change that does not start stops at the first instance: the others answer as before, and a mended file goes on", async () => {
    const other = await pids("hello-2");
    mesh.write("mesh.yaml", wordFile(port, { word: "three", replicas: 2, command: "exit 3" }));
    const load = startLoad(() => fetchOk(url), { lanes: 4, pauseMs: 10 });
    const { code, stderr } = await mesh.cli("apply", "-f", "mesh.yaml");
    await load.stop();
    expect(code).toBe(1);
    expect(stderr).toBe("error: hello-1/app: exit code 3; the workloads behind it were not changed\n");
    expect(load.failures).toEqual([]);
    expect([...load.answers.keys()]).toContain("two hello-2");
    expect(await pids("hello-2")).toEqual(other);
    expect((await mesh.cli("status")).code).toBe(1);

    mesh.write("mesh.yaml", wordFile(port, { word: "three", replicas: 2 }));
    expect(await mesh.cli("apply", "-f", "mesh.yaml")).toMatchObject({ code: 0, stderr: "" });
    await untilAnswers("three hello-1", "three hello-2");
  });

  test("what cannot be applied is reported, with its place, and changes nothing", async () => {
    const before = await pids("hello-1");
    mesh.write("bad.yaml", wordFile(port, { word: "x" }).replace("replicas: 3", "replicas: none"));
    expect((await mesh.cli("apply", "-f", "bad.yaml")).stderr).toMatch(
      /^Error: bad\.yaml:\d+:\d+: services\.hello\.replicas: /,
    );
    mesh.write("bad.yaml", wordFile(port, { word: "x" }).replace("namespace: pair", "namespace: other"));
    expect((await mesh.cli("apply", "-f", "bad.yaml")).stderr).toBe(
      "Error: bad.yaml: namespace is other, the mesh runs in pair; " +
        `do pilot-agent mesh down --name ${mesh.state().name}, then pilot-agent mesh up -f bad.yaml\n`,
    );
    const other = isolation === "none" ? "namespaces" : "none";
    expect((await mesh.cli("apply", "-f", "mesh.yaml", "--isolation", other)).stderr).toMatch(
      new RegExp(
        `isolation ${other} is asked for, the mesh runs with ${isolation}; .* mesh.yaml --isolation ${other}\n$`,
      ),
    );
    mesh.write("bad.yaml", wordFile(port, { word: "x", command: "[no-such-program]" }));
    expect((await mesh.cli("apply", "-f", "bad.yaml")).stderr).toContain("no-such-program is not on PATH");
    expect((await mesh.cli("apply", "--delete", "-f", "mesh.yaml")).stderr).toContain("mesh down ends a mesh");
    expect((await mesh.cli("apply", "-f", "mesh.yaml", "-f", "bad.yaml")).stderr).toContain("it is applied alone");
    expect(await mesh.cli("apply", "-f", "mesh.yaml")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^nothing changes\n/),
    });
    expect(await pids("hello-1")).toEqual(before);
  });

  test("an apply that is cut off by Ctrl-C, or by SIGKILL and mesh down, leaves nothing", async () => {
    mesh.write("mesh.yaml", wordFile(port, { word: "four", replicas: 4 }));
    const applying = mesh.cli("apply", "-f", "mesh.yaml");
    await until(() => (existsSync(join(mesh.stateFolder, "logs/hello-4.agent.log")) ? undefined : "not begun"));
    const state = mesh.state();
    mesh.child.kill(isolation === "namespaces" ? "SIGKILL" : "SIGINT");
    expect(await mesh.exited).toBe(isolation === "namespaces" ? "SIGKILL" : 0);
    expect((await applying).stderr).toMatch(/does not answer|interrupted/);
    if (isolation === "namespaces") expect(await mesh.cli("down")).toMatchObject({ code: 0 });
    expect(await leftovers(state)).toEqual([]);
  });
});
