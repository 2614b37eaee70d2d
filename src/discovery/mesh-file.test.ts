import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { CloseStack } from "../base/close-stack.ts";
import type { MeshSettings } from "../mesh-model/mesh-settings.ts";
import { startMeshFile } from "./mesh-file.ts";

const opened = new CloseStack();
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mesh-file-"));
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
});
afterEach(() => opened.close());

const OWN_ROOT = "rootNamespace: own-root\n";

async function start(path: string | undefined, rescanMs = 60_000) {
  const log = recordLog();
  const file = opened.add(await startMeshFile({ path, domainSuffix: "cluster.local", log, rescanMs }));
  const notices: MeshSettings[] = [];
  file.subscribe((settings) => void notices.push(settings));
  const levels = () => log.lines.map(({ level }) => level);
  return { file, notices, log, levels };
}

describe("at the start", () => {
  test("a file's settings are in force", async () => {
    writeFileSync(join(folder, "mesh"), OWN_ROOT);
    const { file, levels } = await start(join(folder, "mesh"));
    expect(file.settings.rootNamespace).toBe("own-root");
    expect(levels()).toEqual([]);
  });

  test.each([
    { name: "no path", path: () => undefined, warns: [] },
    { name: "a missing file", path: () => join(folder, "mesh"), warns: ["warn"] },
    { name: "a missing directory", path: () => join(folder, "none", "mesh"), warns: ["warn"] },
  ])("$name means defaults", async ({ path, warns }) => {
    const { file, levels } = await start(path());
    expect(file.settings.rootNamespace).toBe("istio-system");
    expect(levels()).toEqual(warns);
  });

  test("an empty file means defaults", async () => {
    writeFileSync(join(folder, "mesh"), " \n");
    expect((await start(join(folder, "mesh"))).file.settings.rootNamespace).toBe("istio-system");
  });

  test.each([
    { name: "text that is no YAML", write: (path: string) => writeFileSync(path, "a: [") },
    { name: "a value that cannot be", write: (path: string) => writeFileSync(path, "connectTimeout: soon\n") },
    {
      name: "text of another encoding",
      write: (path: string) => writeFileSync(path, "rootNamespace: caf\u00e9\n", "latin1"),
    },
    { name: "a directory", write: (path: string) => mkdirSync(path) },
  ])("$name is an error that names the file", async ({ write }) => {
    const path = join(folder, "mesh");
    write(path);
    const starting = start(path);
    await expect(starting).rejects.toMatchObject({ code: "invalid-mesh-config" });
    await expect(starting).rejects.toThrow(/failed reading mesh config: /);
  });
});

describe("later", () => {
  test("a change is reported once, with the new settings in force", async () => {
    const path = join(folder, "mesh");
    writeFileSync(path, "");
    const { file, notices } = await start(path);
    writeFileSync(path, OWN_ROOT);
    await expect.poll(() => notices.map(({ rootNamespace }) => rootNamespace)).toEqual(["own-root"]);
    expect(file.settings).toBe(notices[0]);
  });

  test("a file that is replaced through the links of a volume is followed", async () => {
    for (const [version, text] of Object.entries({ "..1": "", "..2": OWN_ROOT })) {
      mkdirSync(join(folder, version));
      writeFileSync(join(folder, version, "mesh"), text);
    }
    symlinkSync("..1", join(folder, "..data"));
    symlinkSync("..data/mesh", join(folder, "mesh"));
    const { file } = await start(join(folder, "mesh"));
    symlinkSync("..2", join(folder, "..new"));
    renameSync(join(folder, "..new"), join(folder, "..data"));
    await expect.poll(() => file.settings.rootNamespace).toBe("own-root");
  });

  test("a file that goes bad leaves the last settings in force, and is read again when it is good", async () => {
    const path = join(folder, "mesh");
    writeFileSync(path, OWN_ROOT);
    const { file, notices, levels } = await start(path);
    writeFileSync(path, "rootNamespace: [");
    await expect.poll(levels).toContain("error");
    expect(file.settings.rootNamespace).toBe("own-root");
    expect(notices).toEqual([]);
    writeFileSync(path, "rootNamespace: third\n");
    await expect.poll(() => file.settings.rootNamespace).toBe("third");
  });

  test("a file that goes away leaves the last settings in force, and is followed when it is back", async () => {
    const path = join(folder, "mesh");
    writeFileSync(path, OWN_ROOT);
    const { file, notices, levels } = await start(path);
    rmSync(path);
    await expect.poll(levels).toEqual(["error"]);
    expect(file.settings.rootNamespace).toBe("own-root");
    writeFileSync(path, "rootNamespace: third\n");
    await expect.poll(() => notices.map(({ rootNamespace }) => rootNamespace)).toEqual(["third"]);
  });

  test("a file that stays bad is reported once for each reason, however often it is looked at", async () => {
    const path = join(folder, "mesh");
    writeFileSync(path, OWN_ROOT);
    const { file, levels } = await start(path, 110);
    const errors = () => levels().filter((level) => level === "error").length;
    for (let times = 1; times <= 6; times += 1) {
      writeFileSync(path, times % 2 === 0 ? "connectTimeout: soon\n" : "rootNamespace: [");
      await expect.poll(errors, { interval: 300 }).toBe(times);
    }
    writeFileSync(path, OWN_ROOT);
    rmSync(path);
    await expect.poll(errors).toBe(7);
    expect(file.settings.rootNamespace).toBe("own-root");
  });

  test("what only looks written is not a change", async () => {
    const path = join(folder, "mesh");
    writeFileSync(path, OWN_ROOT);
    const { file, notices } = await start(path, 300);
    const before = file.settings;
    writeFileSync(path, OWN_ROOT);
    writeFileSync(join(folder, "other"), "x");
    writeFileSync(path, "rootNamespace: third\n");
    await expect.poll(() => notices.length).toBe(1);
    expect(file.settings).not.toBe(before);
  });

  test("a file in a directory that comes later is found by looking", async () => {
    const path = join(folder, "later", "mesh");
    const { file } = await start(path, 300);
    mkdirSync(join(folder, "later"));
    writeFileSync(path, OWN_ROOT);
    await expect.poll(() => file.settings.rootNamespace).toBe("own-root");
  });
});

test("after the stop nothing is read any more, and a second stop is one", async () => {
  const path = join(folder, "mesh");
  writeFileSync(path, "");
  const { file, notices } = await start(path, 5);
  await file.stop();
  writeFileSync(path, OWN_ROOT);
  await file.stop();
  await new Promise((resolve) => setImmediate(resolve));
  expect(notices).toEqual([]);
});
