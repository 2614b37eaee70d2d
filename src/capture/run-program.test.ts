import { expect, test } from "vitest";
import { failureText, runProgram } from "./run-program.ts";

test("output, exit code and input are passed; words are never read by a shell", async () => {
  const result = await runProgram({
    program: "sh",
    args: ["-c", 'cat; printf "%s" "$1" >&2; exit 3', "sh", "a b;$(c)"],
    input: "given",
  });
  expect(result).toMatchObject({ code: 3, stdout: "given", stderr: "a b;$(c)" });
});

test("a missing program is an outcome, no exception", async () => {
  const call = { program: "no-such-program-here", args: ["x"] };
  const result = await runProgram(call);
  expect(result).toMatchObject({ code: undefined, missing: true });
  expect(failureText(call, result)).toBe(
    'failed to execute no-such-program-here: exec: "no-such-program-here": executable file not found in $PATH',
  );
});

test("an exit by signal is reported", async () => {
  expect(await runProgram({ program: "sh", args: ["-c", "kill -9 $$"] })).toMatchObject({
    failure: "ended by SIGKILL",
  });
});

test("a program that does not read its input does no harm", async () => {
  expect(await runProgram({ program: "true", args: [], input: "x".repeat(1_000_000) })).toMatchObject({ code: 0 });
});

test.each([
  { code: 1, kind: "xtables other problem" },
  { code: 2, kind: "xtables parameter problem" },
  { code: 3, kind: "xtables version problem" },
  { code: 4, kind: "xtables resource problem" },
])("exit code $code of iptables is a(n) $kind", ({ code, kind }) => {
  const text = failureText(
    { program: "iptables-restore", args: ["--noflush"] },
    { code, stdout: "", stderr: "line 2 failed\n" },
  );
  expect(text).toBe(`failed to execute iptables-restore --noflush: exit status ${code}: ${kind}: line 2 failed`);
});
