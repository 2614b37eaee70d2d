import { describe, expect, test } from "vitest";
import { mustRun } from "./run-tool.ts";

const sh = (script: string): [string, readonly string[]] => ["sh", ["-c", script]];

describe("a program that must run", () => {
  test("gives its output", async () => {
    expect(await mustRun("cat", [], "text")).toBe("text");
  });

  test.each([
    { script: "echo one >&2; echo two >&2; echo three >&2; echo four >&2; exit 1", says: "failed: two; three; four" },
    { script: "echo only on stdout; exit 1", says: "failed: only on stdout" },
    { script: "exit 7", says: "failed: exit code 7" },
    { script: "kill -9 $$", says: "failed: SIGKILL" },
  ])("says the last of what it said: $says", async ({ script, says }) => {
    const failing = mustRun(...sh(script));
    await expect(failing).rejects.toMatchObject({ code: "isolation" });
    await expect(failing).rejects.toThrow(says);
    await expect(failing).rejects.toThrow("sh -c");
  });
});
