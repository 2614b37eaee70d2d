import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { goldenPath, needsGoldenData } from "./golden-data.ts";
import { main } from "./run.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pilot-agent-cases-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function run(...args: string[]) {
  const lines: string[] = [];
  const code = await main(args, (line) => lines.push(line));
  return { code, lines };
}

test.each([
  { args: [], says: "family or folder missing; usage: " },
  { args: ["bootstrap"], says: "family or folder missing; usage: " },
  { args: ["nope", "/"], says: "no family named nope; usage: " },
  { args: ["bootstrap", "/nonexistent"], says: "/nonexistent is no folder; usage: " },
])("a wrong call $args exits with 2: $says", async ({ args, says }) => {
  const { code, lines } = await run(...args);
  expect(code).toBe(2);
  expect(lines).toHaveLength(1);
  expect(lines[0]?.startsWith(says)).toBe(true);
});

test("a folder without cases is not a success", async () => {
  writeFileSync(join(folder, "README.md"), "");
  expect(await run("bootstrap", folder)).toMatchObject({ code: 2 });
});

test("golden cases pass, line by line", async (context) => {
  needsGoldenData(context, goldenPath("bootstrap"));
  const { code, lines } = await run("bootstrap", goldenPath("bootstrap"));
  expect(code).toBe(0);
  expect(lines.slice(0, -1).every((line) => /^pass \S/.test(line))).toBe(true);
  expect(lines.at(-1)).toMatch(/^[1-9]\d* passed, 0 failed$/);
});
