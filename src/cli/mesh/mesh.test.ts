import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runWords } from "../../../test/support/cli/run-words.ts";
import { COMMANDS } from "../commands/list.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pilot-agent-mesh-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (...words: readonly string[]) => runWords({ words: ["mesh", ...words], commands: COMMANDS, env: {} });

describe("mistakes on the command line", () => {
  test.each([
    {
      words: ["statuss"],
      says: 'Error: unknown command "statuss" for "pilot-agent mesh"\n\nDid you mean this?\n\tstatus\n\nRun \'pilot-agent mesh --help\' for usage.\n',
    },
    { words: ["status", "--wath"], says: "Error: there is no flag --wath; did you mean --watch?\n" },
    { words: ["kill"], says: "Error: one part is expected, found 0: control-plane, WORKLOAD/app, WORKLOAD/agent\n" },
    {
      words: ["restart"],
      says: "Error: which one? control-plane, WORKLOAD/app, WORKLOAD/agent\n",
    },
  ])("$words: said once, exit code 2", async ({ words, says }) => {
    expect(await run(...words)).toEqual({ code: 2, stdout: "", stderr: says, logged: [] });
  });

  test("without a sub-command the help is printed", async () => {
    expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining("Available Commands:") });
  });
});

describe("mesh ls", () => {
  test("no mesh: says where it looked", async () => {
    const { stdout } = await run("ls", "--state-dir", folder);
    expect(stdout).toBe(`no mesh in ${folder}; pilot-agent mesh up starts one\n`);
  });

  test("a mesh that ended and one whose parent is gone have different states", async () => {
    mkdirSync(join(folder, "ended"));
    mkdirSync(join(folder, "killed"));
    const state = {
      format: 1,
      runId: "r",
      name: "killed",
      startedAt: "2026-01-01T00:00:00.000Z",
      parent: { pid: 1, start: "not this one" },
      controlSocket: "",
      program: { launcher: "l", node: "n" },
      namespaces: [],
      interfaces: [],
      resolverFolders: [],
      processes: {},
    };
    writeFileSync(join(folder, "killed", "state.json"), JSON.stringify(state));
    const { stdout } = await run("ls", "--state-dir", folder, "-o", "json");
    expect(JSON.parse(stdout)).toMatchObject([
      { name: "ended", state: "stopped" },
      { name: "killed", state: "left over", since: "2026-01-01T00:00:00.000Z" },
    ]);
  });
});

describe("mesh validate", () => {
  const file = (text: string) => {
    const path = join(folder, "mesh.yaml");
    writeFileSync(path, text);
    return path;
  };
  test("problems are a list for machines, exit code 1", async () => {
    const { code, stdout, stderr } = await run("validate", "-f", file("name: shop\nservces: {}\n"), "-o", "json");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      valid: false,
      problems: expect.arrayContaining([expect.stringContaining("servces")]),
    });
  });

  test("another format is refused with those there are", async () => {
    const { code, stderr } = await run("validate", "-f", file("name: shop\n"), "-o", "xml");
    expect({ code, stderr }).toEqual({ code: 2, stderr: 'Error: --output is "xml", allowed are text, json\n' });
  });
});

test("mesh logs names the log that is missing and those that are there", async () => {
  const logs = join(folder, "shop", "logs");
  mkdirSync(join(folder, "shop"), { recursive: true });
  mkdirSync(logs);
  writeFileSync(join(logs, "web.app.log"), "hello\n");
  const { code, stderr } = await run("logs", "web", "api", "--name", "shop", "--state-dir", folder);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^Error: there is no log of (web|api); there are /);
});
