import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openRotatingFile } from "./rotating-file.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pilot-agent-log-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A clock that moves a second with each look, so that backups get different names. */
function ticking(start = Date.UTC(2024, 0, 2, 3, 4, 5)): () => number {
  let now = start;
  return () => {
    now += 1000;
    return now;
  };
}
const open = (overrides: object = {}) =>
  openRotatingFile({
    path: join(folder, "agent.log"),
    maxBytes: 10,
    maxAgeDays: 0,
    maxBackups: 0,
    now: ticking(),
    ...overrides,
  });

test("a line that would not fit starts a new file, the old one keeps its time in its name", () => {
  const target = open();
  target.write("12345678\n");
  target.write("abc\n");
  target.close();
  expect(readdirSync(folder).sort()).toEqual(["agent-2024-01-02T03-04-06.000.log", "agent.log"]);
  expect(readFileSync(join(folder, "agent.log"), "utf8")).toBe("abc\n");
});

test("an existing file is appended to and its size counts", () => {
  writeFileSync(join(folder, "agent.log"), "12345678\n");
  const target = open();
  target.write("abc\n");
  target.close();
  expect(readdirSync(folder)).toHaveLength(2);
});

test("only the newest backups are retained", () => {
  const target = open({ maxBackups: 2 });
  for (let index = 0; index < 6; index += 1) target.write(`line ${index}..\n`);
  target.close();
  expect(readdirSync(folder)).toHaveLength(3);
});

test("backups past their age go, foreign files stay", () => {
  const old = join(folder, "agent-2020-01-01T00-00-00.000.log");
  writeFileSync(old, "x");
  writeFileSync(join(folder, "agent-notes.log"), "x");
  utimesSync(old, 0, 0);
  const target = open({ maxAgeDays: 1 });
  target.write("12345678\n");
  target.write("abc\n");
  target.close();
  expect(readdirSync(folder).sort()).toEqual(["agent-2024-01-02T03-04-06.000.log", "agent-notes.log", "agent.log"]);
});

test("a single line over the limit is refused and the file stays usable", () => {
  const target = open();
  expect(() => target.write("far too long a line\n")).toThrow("write length 20 exceeds maximum file size 10");
  target.write("ok\n");
  target.close();
  expect(readFileSync(join(folder, "agent.log"), "utf8")).toBe("ok\n");
});

test("a folder that does not exist is a clear error", () => {
  expect(() => open({ path: join(folder, "no/agent.log") })).toThrow("no such file or directory");
});

test("a rotation that fails loses its line and nothing else", () => {
  const target = open();
  target.write("12345678\n");
  rmSync(join(folder, "agent.log"));
  expect(() => target.write("abc\n")).toThrow("no such file");
  writeFileSync(join(folder, "agent.log"), "");
  expect(() => target.write("def\n")).not.toThrow();
  target.close();
  expect(readFileSync(join(folder, "agent.log"), "utf8")).toBe("def\n");
});
