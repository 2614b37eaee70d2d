import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runProgram } from "./run-program.ts";

const folder = mkdtempSync(join(tmpdir(), "run-program-"));
afterAll(() => rmSync(folder, { recursive: true }));
const WAYS = [
  { way: "a pipe", outputFolders: [] },
  { way: "a file", outputFolders: ["/no/such/folder", folder] },
  { way: "a pipe for want of a writable folder", outputFolders: ["/proc"] },
];

test.each(WAYS)("both outputs and the exit code come back through $way", async ({ outputFolders }) => {
  const result = await runProgram("/bin/sh", ["-c", "echo out; echo err >&2; exit 3"], {
    timeoutMs: 5_000,
    outputFolders,
  });
  expect(result).toMatchObject({ code: 3, signal: null });
  expect(result.output.split("\n").sort()).toEqual(["", "err", "out"]);
  expect(readdirSync(folder)).toEqual([]);
});

test("only a file can be opened again as /dev/stdout", async () => {
  const run = (outputFolders: string[]) =>
    runProgram("/bin/sh", ["-c", "echo again > /dev/stdout"], { timeoutMs: 5_000, outputFolders });
  expect(await run([folder])).toMatchObject({ code: 0, output: "again\n" });
  expect((await run([])).code).not.toBe(0);
});

test.each(WAYS)("a program that takes too long is killed ($way)", async ({ outputFolders }) => {
  const result = await runProgram("/bin/sh", ["-c", "exec sleep 60"], { timeoutMs: 50, outputFolders });
  expect(result).toMatchObject({ code: null, signal: "SIGKILL" });
});

test("a program that is not there is reported, not thrown", async () => {
  const result = await runProgram("/no/such/program", [], { timeoutMs: 1_000 });
  expect(result).toMatchObject({ code: null, output: "", error: { code: "ENOENT" } });
});

test("output beyond the limit is cut off", async () => {
  const script = "head -c 3000000 /dev/zero";
  for (const { outputFolders } of WAYS) {
    const { output } = await runProgram("/bin/sh", ["-c", script], { timeoutMs: 5_000, outputFolders });
    expect(output.length).toBeLessThanOrEqual(1024 * 1024);
    expect(output.length).toBeGreaterThan(900_000);
  }
});
