import { expect, test } from "vitest";
import { runProgram, runProgramSync } from "./run-program.ts";

const sh = (script: string): [string, readonly string[]] => ["sh", ["-c", script]];

test("a program that succeeds gives its output", async () => {
  const result = await runProgram(...sh("echo out; echo err >&2"));
  expect(result).toMatchObject({ code: 0, signal: null, stdout: "out\n", stderr: "err\n" });
  expect(result.output.split("\n").sort()).toEqual(["", "err", "out"]);
});

test("one that fails gives its exit code", async () => {
  expect(await runProgram(...sh("exit 3"))).toEqual({ code: 3, signal: null, stdout: "", stderr: "", output: "" });
});

test("one that is killed gives the signal", async () => {
  expect(await runProgram(...sh("kill -9 $$"))).toMatchObject({ code: null, signal: "SIGKILL" });
});

test.each([
  { name: "a missing program", program: "no-such-program-here", args: [], says: "ENOENT" },
  { name: "an argument that no process can have", program: "echo", args: ["a\0b"], says: "without null bytes" },
  { name: "too long a command line", program: "/bin/true", args: ["a".repeat(3_000_000)], says: "E2BIG" },
])("$name is reported, not thrown", async ({ program, args, says }) => {
  const { code, error } = await runProgram(program, args);
  expect([code, error?.message]).toEqual([null, expect.stringContaining(says)]);
});

test("input is read to the end, and is empty when there is none", async () => {
  const input = "line\n".repeat(50_000);
  expect((await runProgram("cat", [], { input })).stdout).toBe(input);
  expect((await runProgram("cat", [])).stdout).toBe("");
});

test("a program may end without reading its input", async () => {
  expect((await runProgram(...sh("exit 0"), { input: "x".repeat(1_000_000) })).code).toBe(0);
});

test("environment and directory are the given ones", async () => {
  const env = { PATH: process.env.PATH, ONLY: "this" };
  expect((await runProgram(...sh('echo "$ONLY$HOME"; pwd'), { env, cwd: "/" })).stdout).toBe("this\n/\n");
});

test("output beyond the limit is dropped", async () => {
  const { output } = await runProgram("head", ["-c", "300000", "/dev/zero"], { maxOutputBytes: 100_000 });
  expect(output.length).toBeLessThanOrEqual(100_000);
});

test("a time limit and an abort kill the program; an aborted signal starts none", async () => {
  expect(await runProgram("sleep", ["60"], { timeoutMs: 20 })).toMatchObject({ code: null, signal: "SIGKILL" });
  const stop = new AbortController();
  const running = runProgram("sleep", ["60"], { signal: stop.signal });
  stop.abort();
  expect(await running).toMatchObject({ code: null, signal: "SIGKILL" });
  expect(await runProgram("no-such-program-here", [], { signal: stop.signal })).toMatchObject({ signal: "SIGKILL" });
});

test("a synchronous run gives its output or throws", () => {
  expect(runProgramSync("echo", ["text"])).toBe("text\n");
  expect(() => runProgramSync("sh", ["-c", "exit 1"])).toThrow();
});
