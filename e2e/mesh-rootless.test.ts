import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { ordinaryUser } from "../test/support/mesh/ordinary-user.ts";
import { helloRule, pairFile } from "../test/support/mesh/pair.ts";
import { execute, leftovers, startMeshRun } from "../test/support/mesh/run.ts";
import { needs } from "../test/support/needs.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import { PROGRAM } from "../test/support/process/program.ts";
import { until } from "../test/support/wait/until.ts";

beforeEach(needs("root", "envoy", "iptables", "setpriv"));

const NAMESPACES = ["--isolation", "namespaces"];

test("an ordinary user has namespaces with capture, reached from the machine, and leaves nothing behind", async () => {
  using user = ordinaryUser();
  const outside = createServer((_, response) => response.end("from outside")).listen(0, "127.0.0.1");
  await new Promise((ready) => outside.once("listening", ready));
  const address = outside.address();
  const target = typeof address === "object" && address !== null ? address.port : 0;
  const [port = 0, shelf = 0] = await freePorts(2);
  const more = `  shelf: {port: ${shelf}, address: "127.0.0.1:${target}"}\n`;
  const file = pairFile({ port, more }).replace("calls: [hello]", "calls: [hello, shelf]");
  const before = (await execute(["sh", "-c", "ip netns list; ip -o link; ls /etc/netns 2>/dev/null"], "/")).stdout;
  await using mesh = startMeshRun({ file, args: NAMESPACES, wrapper: user.wrapper, env: { HOME: user.home } });
  await mesh.untilUp();
  expect(mesh.output()).toContain("without root nothing leads out of the namespaces");
  const { entries, localEntries, workloads, isolation } = await mesh.status();
  expect(isolation).toBe("namespaces");
  expect(entries.web).toBe(`http://127.0.0.1:${port}`);
  expect(localEntries.web).toBe(`http://localhost:${port}`);
  expect((await fetchAnswer(`${entries.web}/`)).body).toBe(`hello ${mesh.state().name}`);

  // By plain names, captured: rules hold, and services outside are reached through the machine.
  const ask = async (workload: string, url: string) =>
    (await mesh.cli("exec", workload, "--", "curl", "-s", "-m", "30", url)).stdout;
  expect(await ask("web", `http://hello:${port}/`)).toBe(`hello ${mesh.state().name}`);
  expect(await ask("web", `http://shelf:${shelf}/`)).toBe("from outside");
  mesh.write("rule.yaml", helloRule("by a rule"));
  expect((await mesh.cli("apply", "-f", "rule.yaml")).code).toBe(0);
  expect(await ask("web", `http://hello:${port}/`)).toBe("by a rule");
  expect((await mesh.cli("apply", "--delete", "-f", "rule.yaml")).code).toBe(0);
  // Over mutual TLS, as the mesh is strict.
  const admin = workloads.find(({ name }) => name === "web")?.admin ?? "";
  const stats = (await fetchAnswer(`${admin}/stats?filter=ssl.handshake`)).body;
  expect(stats).toMatch(/hello\S*ssl\.handshake: [1-9]/);
  const chains = await mesh.cli("exec", "web", "--", "iptables-save", "-t", "nat");
  expect(chains.stdout).toContain("--to-ports 15001");

  const state = mesh.state();
  mesh.child.kill("SIGINT");
  expect(await mesh.exited).toBe(0);
  expect(await leftovers(state)).toEqual([]);
  await new Promise((closed) => outside.close(closed));
  const names = (text: string) => text.split("\n").filter((line) => line.includes("pauser"));
  expect(
    names((await execute(["sh", "-c", "ip netns list; ip -o link; ls /etc/netns 2>/dev/null"], "/")).stdout),
  ).toEqual(names(before));
});

test("killed with everything that it has, it leaves what mesh down finds", async () => {
  using user = ordinaryUser();
  const [port = 0] = await freePorts(1);
  await using mesh = startMeshRun({
    file: pairFile({ port }),
    args: NAMESPACES,
    wrapper: user.wrapper,
    env: { HOME: user.home },
  });
  await mesh.untilUp();
  const state = mesh.state();
  process.kill(state.parent.pid, "SIGKILL");
  expect(await mesh.exited).toBe(137);
  expect((await mesh.cli("down")).code).toBe(0);
  await until(async () => ((await leftovers(state)).length === 0 ? undefined : (await leftovers(state)).join(", ")));
});

test("in the background, an ordinary user has namespaces until mesh down, which leaves nothing", async () => {
  using user = ordinaryUser();
  const [port = 0] = await freePorts(1);
  await using mesh = startMeshRun({
    file: pairFile({ port }),
    args: ["-d", ...NAMESPACES],
    wrapper: user.wrapper,
    env: { HOME: user.home },
  });
  expect([await mesh.exited, mesh.output()]).toEqual([0, expect.stringContaining("is ready after")]);
  expect(mesh.output()).toContain("It runs in the background");
  const { entries, isolation } = await mesh.status();
  expect(isolation).toBe("namespaces");
  expect((await fetchAnswer(`${entries.web}/`)).body).toBe(`hello ${mesh.state().name}`);
  const second = await mesh.cli("up", "-d", "-f", "mesh.yaml", ...NAMESPACES);
  expect(second).toMatchObject({ code: 1, stderr: expect.stringMatching(/^Error: this mesh runs already/) });
  const state = mesh.state();
  expect(await mesh.cli("down")).toMatchObject({ code: 0 });
  await until(async () => ((await leftovers(state)).length === 0 ? undefined : (await leftovers(state)).join(", ")));
});

test("what it prints to type is as short as without namespaces, and works", async () => {
  using user = ordinaryUser();
  const [port = 0] = await freePorts(1);
  writeFileSync(join(user.home, "mesh.yaml"), pairFile({ port }));
  const run = (...words: readonly string[]) => execute([...user.wrapper, PROGRAM, "mesh", ...words], user.home);
  const up = await run("up", "-d", ...NAMESPACES);
  try {
    expect(up.code).toBe(0);
    expect(up.stdout).toMatch(/\bmesh status\n/);
    expect(up.stdout).toMatch(/\bmesh down ends it\.\n$/);
    expect(await run("status")).toMatchObject({ code: 0, stderr: "" });
  } finally {
    expect(await run("down")).toMatchObject({ code: 0, stderr: "" });
  }
});
