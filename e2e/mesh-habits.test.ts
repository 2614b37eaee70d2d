import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CloseStack } from "../src/base/close-stack.ts";
import type { TrafficEdge } from "../src/mesh/index.ts";
import { isAlive } from "../src/process/process-identity.ts";
import { pairFile } from "../test/support/mesh/pair.ts";
import { leftovers, type MeshRun, startMeshRun } from "../test/support/mesh/run.ts";
import { needs } from "../test/support/needs.ts";
import { fetchOk } from "../test/support/net/fetch-answer.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import { startLoad } from "../test/support/net/start-load.ts";
import { until } from "../test/support/wait/until.ts";

const serve = (text: string) =>
  `exec node -e 'console.log("${text}"); require("http").createServer((_, out) => out.end("${text}")).listen(process.env.PORT, process.env.HOST)'`;

const LOOSE = ["--isolation", "none", "--console=off"];

function until200(mesh: MeshRun, url: string, body: string): Promise<void> {
  return until(async () => {
    const answer = await fetch(url).then((got) => got.text(), String);
    return answer === body || `${answer}\n${mesh.output()}`;
  }, 60_000);
}

describe("mesh up -d", () => {
  test("returns when all is ready, with what is where; mesh down ends it and the logs stay", async (context) => {
    needs("envoy")(context);
    const [port = 0] = await freePorts(1);
    const file = `services: {web: {port: ${port}, entry: true, calls: [], command: ${JSON.stringify(serve("hello"))}, versions: {v1: {}, v2: {}}}}\n`;
    await using mesh = startMeshRun({ file, args: ["-d", ...LOOSE] });
    expect([await mesh.exited, mesh.output()]).toEqual([0, expect.stringContaining("is ready after")]);
    expect(mesh.output()).toContain("It runs in the background");
    expect(mesh.output()).not.toContain("| hello");
    const state = mesh.state();
    expect([state.parent.pid === mesh.child.pid, isAlive(state.parent)]).toEqual([false, true]);
    await until200(mesh, (await mesh.status()).entries.web ?? "", "hello");
    expect(readFileSync(join(mesh.stateFolder, "mesh-up.log"), "utf8")).toContain("is ready after");

    const second = await mesh.cli("up", "-d", "-f", "mesh.yaml");
    expect(second).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Error: this mesh runs already, as process \d+;/),
    });

    expect(await mesh.cli("down")).toMatchObject({ code: 0 });
    expect(await leftovers(state)).toEqual([]);
    // Of the service, whose workloads are web-v1 and web-v2.
    expect((await mesh.cli("logs", "web/app")).stdout).toBe("web-v1/app | hello\nweb-v2/app | hello\n");
    const other = await mesh.cli("logs", "wep");
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no log of wep; there are ") });
  });

  test("says what is not ready, with exit code 1, and goes on", async (context) => {
    needs("envoy")(context);
    const file = `services: {crash: {port: 8082, calls: [], command: "echo 'Error: no database' >&2; exit 3"}}\n`;
    await using mesh = startMeshRun({ file, args: ["-d", ...LOOSE] });
    expect([await mesh.exited, mesh.output()]).toEqual([
      1,
      expect.stringContaining("not ready: crash/app: exit code 3"),
    ]);
    expect(mesh.output()).toContain("crash/app | Error: no database");
    expect(isAlive(mesh.state().parent)).toBe(true);
  });

  test("an application that runs for a moment each time is not taken for ready", async (context) => {
    needs("envoy")(context);
    const [port = 0] = await freePorts(1);
    const slow = `sleep 6; ${serve("late")}`;
    const file = `services:
  crash: {calls: [], command: "sleep 1; exit 3"}
  slow: {port: ${port}, calls: [], command: ${JSON.stringify(slow)}}
`;
    await using mesh = startMeshRun({ file, args: ["-d", ...LOOSE] });
    expect([await mesh.exited, mesh.output()]).toEqual([
      1,
      expect.stringContaining("not ready: crash/app: exit code 3"),
    ]);
    expect(mesh.output()).not.toContain("not ready: slow");
  });

  test("a start that fails is reported once, in the exit code too, and leaves nothing", async () => {
    const file = "services: {web: {port: 8080, command: [./not-there]}}\n";
    await using mesh = startMeshRun({ file, args: ["-d", ...LOOSE] });
    expect(await mesh.exited).toBe(1);
    expect(mesh.output()).toMatch(/^Error: mesh\.yaml:1:\d+: services\.web: the command cannot be run: .*not-there/);
    expect(mesh.output().match(/not-there/g)).toHaveLength(1);
    expect(existsSync(join(mesh.stateFolder, "state.json"))).toBe(false);
    const both = await mesh.cli("up", "-d", "--attach", "web", "-f", "mesh.yaml");
    expect(both).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--detach and --attach exclude each other"),
    });
  });
});

test("mesh up --watch applies the file when it changes; with a mistake in it the mesh stays as it is", async (context) => {
  needs("envoy")(context);
  const [port = 0] = await freePorts(1);
  const file = (text: string, more = "") =>
    `services:\n  web: {port: ${port}, entry: true, calls: [], command: ${JSON.stringify(serve(text))}}\n${more}`;
  await using mesh = startMeshRun({ file: file("first"), args: ["--watch", ...LOOSE] });
  await mesh.untilUp();
  const url = (await mesh.status()).entries.web ?? "";
  await until200(mesh, url, "first");
  mesh.write("mesh.yaml", file("second", "  late: {command: [./not-there]}\n"));
  await until(() => /^error: mesh\.yaml:3:\d+: services\.late: .*not-there/m.test(mesh.output()) || mesh.output());
  expect((await mesh.status()).problems).toEqual([expect.stringContaining("not-there")]);
  expect(await (await fetch(url)).text()).toBe("first");
  mesh.write("mesh.yaml", file("second"));
  await until(() => mesh.output().includes("the mesh is as mesh.yaml says") || mesh.output(), 60_000);
  expect(mesh.output().match(/web is restarted/g)).toHaveLength(1);
  await until200(mesh, url, "second");
  expect((await mesh.status()).problems).toEqual([]);
});

test("mesh up --watch-app restarts an application when its files change, and no other", async (context) => {
  needs("envoy")(context);
  const [port = 0] = await freePorts(1);
  const source = (text: string) =>
    `require("http").createServer((_, out) => out.end("${text}")).listen(process.env.PORT, process.env.HOST)`;
  const file = `services:
  web: {port: ${port}, entry: true, calls: [], directory: web, command: [node, app.js]}
  talk: {calls: [], command: exec sleep 100000}
`;
  await using mesh = startMeshRun({
    file,
    files: { "web/app.js": source("first") },
    args: ["--watch-app", "web", ...LOOSE],
  });
  await mesh.untilUp();
  const url = (await mesh.status()).entries.web ?? "";
  const pidOf = async (name: string) => (await mesh.status()).workloads.find((each) => each.name === name)?.app;
  const talk = await pidOf("talk");
  await until200(mesh, url, "first");
  mesh.write("web/app.js", source("second"));
  await until200(mesh, url, "second");
  expect(mesh.output()).toContain("files of web have changed: restarting it");
  expect(await pidOf("talk")).toEqual(talk);
  const wrong = await mesh.cli("up", "-f", "mesh.yaml", "--watch-app", "wep");
  expect(wrong).toMatchObject({ code: 2, stderr: 'Error: --watch-app is "wep"; there are web, talk\n' });
});

test("mesh top shows requests, errors and latencies of every edge", async (context) => {
  needs("envoy")(context);
  const [port = 0] = await freePorts(1);
  await using mesh = startMeshRun({ file: pairFile({ port }), args: LOOSE });
  await mesh.untilUp();
  const { entries } = await mesh.status();
  const load = startLoad(() => fetchOk(entries.web ?? ""), { pauseMs: 20 });
  await using opened = new CloseStack();
  opened.add(load);
  await until(() => load.answers.size > 0 || "no traffic yet");
  const { code, stdout } = await mesh.cli("top", "--once", "-o", "json");
  const { edges } = JSON.parse(stdout) as { readonly edges: readonly TrafficEdge[] };
  expect([code, edges.map(({ from, to }) => `${from} -> ${to}`).toSorted()]).toEqual([
    0,
    ["outside the mesh -> web", "web -> hello"],
  ]);
  const inside = edges.find(({ to }) => to === "hello");
  expect(inside).toMatchObject({ protocol: "http", errorShare: 0, mtlsShare: 1 });
  expect(Math.min(inside?.rps ?? 0, inside?.p50Ms ?? 0, inside?.p99Ms ?? 0)).toBeGreaterThan(0);
  expect((await mesh.cli("top", "--once")).stdout).toMatch(/^web +hello +http +[\d.]+ +0 % +0 % +[\d.]+ ms/m);
});
