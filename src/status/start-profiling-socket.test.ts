import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Worker } from "node:worker_threads";
import { afterEach, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { skipWith } from "../../test/support/skip-with.ts";
import { CloseStack } from "../base/close-stack.ts";
import { type ProfilingOptions, startProfilingSocket } from "./start-profiling-socket.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "profiling-"));
  opened.defer(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function start(options: Partial<ProfilingOptions> = {}) {
  const log = recordLog();
  const path = join(temporaryFolder(), "socket");
  const server = await startProfilingSocket({ path, log, ...options });
  if (server !== undefined) opened.add(server);
  const ask = (target: string, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }>((resolve, reject) => {
      const sent = request({ socketPath: path, path: target, headers, agent: false }, async (response) =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text: await text(response) }),
      );
      sent.on("error", reject).end();
    });
  return { path, log, server, ask };
}

test("a CPU profile shows functions of this process; a second one at the same time has to wait", async () => {
  const { ask } = await start();
  // Longer than a busy machine takes to begin the first one: the second request is read after that.
  const answers = await Promise.all([1, 2].map(() => ask("/debug/pprof/profile?seconds=3")));
  answers.sort((a, b) => a.status - b.status);
  expect(answers.map(({ status }) => status)).toEqual([200, 503]);
  expect(answers[0]?.headers["content-disposition"]).toContain(".cpuprofile");
  const profile = JSON.parse(answers[0]?.text ?? "") as { nodes: unknown[]; endTime: number; startTime: number };
  expect(profile.nodes.length).toBeGreaterThan(1);
  expect(profile.endTime - profile.startTime).toBeGreaterThan(300_000);
});

test("a heap snapshot is one", async () => {
  // Of a thread of its own: this process's heap has all modules of the tests in it.
  const worker = new Worker("require('node:worker_threads').parentPort.on('message', () => undefined)", { eval: true });
  opened.defer(async () => void (await worker.terminate()));
  await once(worker, "online");
  const { ask } = await start({ openHeapSnapshot: () => worker.getHeapSnapshot() });
  const { text: snapshot, status, headers } = await ask("/debug/pprof/heap");
  expect(status).toBe(200);
  expect(headers["content-disposition"]).toContain(".heapsnapshot");
  expect(snapshot.slice(0, 60)).toContain('{"snapshot":{"meta"');
  expect(snapshot.trimEnd().endsWith("}")).toBe(true);
});

test.each(["0", "-1", "301", "x"])("%s seconds are refused", async (seconds) => {
  const { ask } = await start();
  const answer = await ask(`/debug/pprof/profile?seconds=${seconds}`);
  expect(answer).toMatchObject({ status: 400, text: expect.stringContaining(`seconds is "${seconds}"`) });
});

test("the index names both, unknown pages are none", async () => {
  const { ask } = await start();
  expect((await ask("/debug/pprof/")).text).toMatch(/^\/debug\/pprof\/profile\t.*\n\/debug\/pprof\/heap\t.*\n$/);
  expect((await ask("/debug/pprof/nothing")).status).toBe(404);
  expect((await ask("/debug/pprof/", { Host: "rebound.example" })).status).toBe(403);
});

test("the socket is its owner's alone, from the moment it is there", async () => {
  const before = process.umask(0);
  opened.defer(() => void process.umask(before));
  const { path, server } = await start();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(process.umask()).toBe(0);
  await server?.stop();
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
});

test("another user of the machine cannot connect", async (context) => {
  if (process.getuid?.() !== 0) return skipWith(context, "notice: only root can try as another user");
  const { path } = await start();
  chmodSync(join(path, ".."), 0o755);
  const script = `require("node:net").connect(${JSON.stringify(path)}).on("error", ({ code }) => console.log(code)).on("connect", () => process.exit(1))`;
  const { stdout, status } = spawnSync(process.execPath, ["-e", script], { uid: 65534, gid: 65534, cwd: "/" });
  expect([String(stdout), status]).toEqual(["EACCES\n", 0]);
});

test("a path that cannot be used is an error in the log, and nothing is served", async () => {
  const path = join(temporaryFolder(), "file");
  writeFileSync(path, "mine");
  const { server, log } = await start({ path });
  expect(server).toBeUndefined();
  expect(log.lines).toMatchObject([
    { level: "error", fields: { path, error: expect.stringContaining("not a socket") } },
  ]);
});
