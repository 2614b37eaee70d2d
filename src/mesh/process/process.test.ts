import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { needs } from "../../../test/support/needs.ts";
import { createNetns } from "../../../test/support/netns/netns.ts";
import { until } from "../../../test/support/wait/until.ts";
import { isAlive, type ProcessIdentity } from "../../process/process-identity.ts";
import { endProcesses, isListening, markedProcesses } from "./mesh-processes.ts";
import { type Part, type PartEvent, startPart } from "./start-part.ts";

/** Tests of another checkout may run at the same time. */
const RUN = `test-${process.pid}`;

let folder: string;
let events: PartEvent[];
let parts: Part[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mesh-part-"));
  events = [];
  parts = [];
});
afterEach(async () => {
  await Promise.all(parts.map((part) => part.stop()));
  rmSync(folder, { recursive: true, force: true });
});

function run(
  script: string,
  options: {
    readonly run?: string;
    readonly command?: readonly string[];
    readonly graceMs?: number;
    readonly env?: Readonly<Record<string, string>>;
    readonly endsGroup?: boolean;
  } = {},
): Part {
  const part = startPart(
    {
      name: "web/app",
      command: options.command ?? ["/bin/sh", "-c", script],
      env: { PATH: process.env.PATH ?? "", PILOT_AGENT_MESH_RUN: options.run ?? RUN, ...options.env },
      directory: folder,
      logFile: join(folder, "log"),
      graceMs: options.graceMs ?? 30_000,
      endsGroup: options.endsGroup ?? false,
    },
    (event) => events.push(event),
  );
  parts.push(part);
  return part;
}

const started = () => events.filter(({ type }) => type === "started").length;
const log = () => readFileSync(join(folder, "log"), "utf8");

test("another command counts from its next start on", async () => {
  const part = run("echo first; exec sleep 60");
  await until(() => existsSync(join(folder, "log")) && log() === "first\n");
  part.setSpec({
    name: "web/app",
    command: ["/bin/sh", "-c", "echo $WORD; exec sleep 60"],
    env: { PATH: process.env.PATH ?? "", PILOT_AGENT_MESH_RUN: RUN, WORD: "second" },
    directory: folder,
    logFile: join(folder, "log"),
    graceMs: 2000,
  });
  expect(log()).toBe("first\n");
  part.kill("SIGKILL");
  await until(() => log() === "first\nsecond\n");
});

test("output goes to the log file, and an ended process comes back", async () => {
  const part = run("echo out; echo err >&2; exit 3");
  await until(() => started() >= 2);
  expect(log()).toMatch(/^out\nerr\n/);
  expect(events).toContainEqual(
    expect.objectContaining({ type: "ended", reason: "exit code 3", delayMs: 100, isLoop: false }),
  );
  await part.stop();
  expect(part.status()).toMatchObject({ phase: "stopped" });
});

test("a process that keeps ending is a crash loop, tried ever more seldom", async () => {
  const part = run("exit 1");
  await until(() => part.status().phase === "crash-loop");
  expect(part.status()).toMatchObject({ reason: "exit code 1" });
  await until(() => started() >= 5);
  expect(part.status().phase).toBe("crash-loop");
  const pauses = events.flatMap((event) => (event.type === "ended" ? [event.delayMs] : []));
  expect(pauses.slice(0, 4)).toEqual([100, 200, 400, 800]);
});

test("a program that is not there is reported by its name", async () => {
  const part = run("", { command: ["/no/such/program"] });
  await until(() => events.some(({ type }) => type === "ended"));
  expect(part.status()).toMatchObject({ phase: "waiting", reason: "spawn /no/such/program ENOENT" });
});

test.each([
  { what: "an environment that the system does not take", env: { BIG: "x".repeat(200_000) }, reason: "E2BIG" },
  { what: "a value that no process can have", env: { NUL: "a\0b" }, reason: "without null bytes" },
])("$what is reported and tried again, and ends no other part", async ({ env, reason }) => {
  const part = run("exec sleep 60", { env });
  await until(() => events.filter(({ type }) => type === "ended").length >= 2);
  expect(part.status()).toMatchObject({ phase: "waiting", reason: expect.stringContaining(reason) });
  await part.stop();
  expect(part.status()).toMatchObject({ phase: "stopped" });
});

test("a shell's children are asked to end and have time to, as their shell", async () => {
  const child = `trap "sleep 0.3; echo ended in order; exit" TERM; echo here; while :; do sleep 0.05; done`;
  const part = run(`sh -c '${child}'; true`, { endsGroup: true });
  await until(() => existsSync(join(folder, "log")) && log() === "here\n");
  await part.stop();
  expect(log()).toContain("ended in order\n");
  expect(markedProcesses(RUN)).toEqual([]);
});

test("a shell's child that does not end is killed when the time is over", async () => {
  const part = run(`sh -c 'trap "" TERM; echo here; while :; do sleep 0.05; done'; true`, {
    endsGroup: true,
    graceMs: 200,
  });
  await until(() => existsSync(join(folder, "log")) && log() === "here\n");
  await part.stop();
  expect(markedProcesses(RUN)).toEqual([]);
});

test("a killed process is back at once", async () => {
  const part = run("exec sleep 60");
  await until(() => started() === 1);
  expect(part.kill("SIGKILL")).toBe(true);
  await until(() => started() === 2);
  expect(part.status()).toMatchObject({ phase: "running", restarts: 1 });
});

test("stopping ends the whole group, also what ignores SIGTERM, and start begins again", async () => {
  const part = run("trap '' TERM; sleep 60 & echo $! ; wait; sleep 60", { graceMs: 200 });
  await until(() => log().trim() !== "");
  await part.stop();
  expect(markedProcesses(RUN)).toEqual([]);
  part.start();
  await until(() => started() === 2);
});

test("a stop while it waits for its next start leaves nothing", async () => {
  const part = run("exit 1");
  await until(() => part.status().phase !== "running" && events.some(({ type }) => type === "ended"));
  const before = started();
  await part.stop();
  await part.stop();
  expect(part.status().phase).toBe("stopped");
  // Another one that ends at once shows when the first would have been started again.
  run("exit 1");
  await until(() => started() >= before + 3);
  expect(part.status()).toMatchObject({ phase: "stopped", restarts: 1 });
});

test("processes are found by the mark they carry, wherever they came from, and ended", async () => {
  const runId = `run-${process.pid}-${Date.now()}`;
  // Its own session and no parent left: no list of ours would name it.
  const detached = join(folder, "detached");
  const script = `trap "" TERM; : > ${detached}; while :; do sleep 1; done`;
  const part = run(`setsid sh -c '${script}' & exec sleep 60`, { run: runId });
  await until(() => existsSync(detached) && markedProcesses(runId).length >= 2);
  const found: readonly ProcessIdentity[] = markedProcesses(runId);
  await part.stop();
  expect(found.some(isAlive)).toBe(true);
  expect(await endProcesses(() => markedProcesses(runId), 200)).toBeGreaterThan(0);
  expect(found.some(isAlive)).toBe(false);
});

async function listen(): Promise<{ readonly port: number } & AsyncDisposable> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((ready) => server.once("listening", ready));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { port, [Symbol.asyncDispose]: () => new Promise((closed) => server.close(() => closed())) };
}

test("a listening port is seen in the process's own network", async () => {
  const server = await listen();
  expect(isListening(process.pid, server.port)).toBe(true);
  await server[Symbol.asyncDispose]();
  expect(isListening(process.pid, server.port)).toBe(false);
});

test("a process that has not entered its namespace listens on nothing, whatever listens on the machine", async (context) => {
  needs("netns")(context);
  await using netns = await createNetns({ isBare: true });
  await using server = await listen();
  expect(isListening(process.pid, server.port)).toBe(true);
  expect(isListening(process.pid, server.port, netns.name)).toBe(false);
  expect(isListening(process.pid, server.port, "pa-none")).toBe(false);
  const script = "require('net').createServer().listen(4000, () => console.log('listens'))";
  const inside = netns.spawn(process.execPath, ["-e", script]);
  try {
    await new Promise((listens) => inside.stdout?.once("data", listens));
    expect(isListening(inside.pid ?? 0, 4000, netns.name)).toBe(true);
    expect(isListening(inside.pid ?? 0, server.port, netns.name)).toBe(false);
  } finally {
    inside.kill("SIGKILL");
  }
});
