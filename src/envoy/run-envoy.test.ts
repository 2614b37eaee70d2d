import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { signalProcess } from "../../test/support/process/signal-process.ts";
import { until } from "../../test/support/wait/until.ts";
import { runEnvoy } from "./run-envoy.ts";

const folder = mkdtempSync(join(tmpdir(), "run-program-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => void vi.useRealTimers());
const WAYS = [
  { way: "a pipe", outputFolders: [] },
  { way: "a file", outputFolders: ["/no/such/folder", folder] },
  { way: "a pipe for want of a writable folder", outputFolders: ["/proc"] },
];

test.each(WAYS)("both outputs and the exit code come back through $way", async ({ outputFolders }) => {
  const result = await runEnvoy("/bin/sh", ["-c", "echo out; echo err >&2; exit 3"], {
    timeoutMs: 30_000,
    outputFolders,
  });
  expect(result).toMatchObject({ code: 3, signal: null });
  expect(result.output.split("\n").sort()).toEqual(["", "err", "out"]);
  expect(readdirSync(folder)).toEqual([]);
});

test("only a file can be opened again as /dev/stdout", async () => {
  const run = (outputFolders: string[]) =>
    runEnvoy("/bin/sh", ["-c", "echo again > /dev/stdout"], { timeoutMs: 30_000, outputFolders });
  expect(await run([folder])).toMatchObject({ code: 0, output: "again\n" });
  expect((await run([])).code).not.toBe(0);
});

test.each(WAYS)("a program that takes too long is killed ($way)", async ({ outputFolders }) => {
  const result = await runEnvoy("/bin/sh", ["-c", "exec sleep 60"], { timeoutMs: 50, outputFolders });
  expect(result).toMatchObject({ code: null, signal: "SIGKILL" });
});

test("a program that is not there is reported, not thrown", async () => {
  const result = await runEnvoy("/no/such/program", [], { timeoutMs: 30_000 });
  expect(result).toMatchObject({ code: null, output: "", error: { code: "ENOENT" } });
});

test("output beyond the limit is cut off", async () => {
  const script = "head -c 3000000 /dev/zero";
  for (const { outputFolders } of WAYS) {
    const { output } = await runEnvoy("/bin/sh", ["-c", script], { timeoutMs: 30_000, outputFolders });
    expect(output.length).toBeLessThanOrEqual(1024 * 1024);
    expect(output.length).toBeGreaterThan(900_000);
  }
});

test.each(WAYS)("a process left behind does not hold up the answer ($way)", async ({ outputFolders }) => {
  const script = "sleep 300 & echo $!; exit 4";
  const { code, output } = await runEnvoy("/bin/sh", ["-c", script], { timeoutMs: 600_000, outputFolders });
  signalProcess(Number(output), "SIGKILL");
  expect(code).toBe(4);
});

test.each(WAYS)("what a script has started is killed with it ($way)", async ({ outputFolders }) => {
  const script = `sleep 300 & echo $! > ${folder}/pid; wait`;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const running = runEnvoy("/bin/sh", ["-c", script], { timeoutMs: 2000, outputFolders });
  await expect.poll(() => existsSync(join(folder, "pid")) && readFileSync(join(folder, "pid"), "utf8")).toMatch(/\n$/);
  // The time is over only now, however long the shell took to start.
  vi.advanceTimersByTime(2000);
  vi.useRealTimers();
  expect((await running).signal).toBe("SIGKILL");
  const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
  rmSync(join(folder, "pid"));
  await until("its end", () => !isRunning(pid));
});

test("an abort ends the program; an aborted signal starts none", async () => {
  const stop = new AbortController();
  const running = runEnvoy("/bin/sh", ["-c", "exec sleep 60"], { timeoutMs: 60_000, signal: stop.signal });
  stop.abort();
  expect(await running).toMatchObject({ code: null, signal: "SIGKILL" });
  const marker = join(folder, "marker");
  await runEnvoy("/bin/sh", ["-c", `echo > ${marker}`], { timeoutMs: 5_000, signal: stop.signal });
  expect(existsSync(marker)).toBe(false);
});

test("a command line that is too long is reported, not thrown", async () => {
  const result = await runEnvoy("/bin/true", ["a".repeat(3_000_000)], { timeoutMs: 30_000 });
  expect(result).toMatchObject({ code: null, error: { code: "E2BIG" } });
});

/** A killed orphan stays as a zombie where no parent collects it. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
