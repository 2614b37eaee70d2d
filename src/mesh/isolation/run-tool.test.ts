import { describe, expect, test } from "vitest";
import { mustRun, runTool } from "./run-tool.ts";

const sh = (script: string): [string, readonly string[]] => ["sh", ["-c", script]];

describe("a program", () => {
  test("that succeeds gives what it said", async () => {
    expect(await runTool(...sh("echo out; echo err >&2"))).toEqual({ code: 0, stdout: "out\n", stderr: "err\n" });
  });

  test("that fails gives its exit code", async () => {
    expect(await runTool(...sh("exit 3"))).toEqual({ code: 3, stdout: "", stderr: "" });
  });

  test("that is killed has a code beyond those of its own", async () => {
    expect((await runTool(...sh("kill -9 $$"))).code).toBe(255);
  });

  test("that is not there is told as such, and nothing is thrown", async () => {
    const result = await runTool("no-such-program-here", []);
    expect(result).toMatchObject({ code: undefined, stderr: expect.stringContaining("ENOENT") });
  });

  test("whose words no process can have is told as such, and nothing is thrown", async () => {
    const result = await runTool("echo", ["a\0b"]);
    expect(result).toMatchObject({ code: undefined, stderr: expect.stringContaining("without null bytes") });
  });

  test("reads its input to the end", async () => {
    const input = "line\n".repeat(50_000);
    expect((await runTool("cat", [], input)).stdout).toBe(input);
  });

  test("may end without reading its input", async () => {
    expect((await runTool(...sh("exit 0"), "x".repeat(1_000_000))).code).toBe(0);
  });
});

describe("a program that must run", () => {
  test("gives its output", async () => {
    expect(await mustRun("cat", [], "text")).toBe("text");
  });

  test.each([
    { script: "echo one >&2; echo two >&2; echo three >&2; echo four >&2; exit 1", says: "failed: two; three; four" },
    { script: "echo only on stdout; exit 1", says: "failed: only on stdout" },
    { script: "exit 7", says: "failed: exit code 7" },
  ])("says the last of what it said: $says", async ({ script, says }) => {
    const failing = mustRun(...sh(script));
    await expect(failing).rejects.toMatchObject({ code: "isolation" });
    await expect(failing).rejects.toThrow(says);
    await expect(failing).rejects.toThrow("sh -c");
  });
});
