import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { commandObstacle } from "../check-commands.ts";
import { isPublic, sharedProgram } from "./shared-program.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mesh-program-"));
  chmodSync(folder, 0o755);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(path: string, text: string, mode = 0o644): string {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
  chmodSync(join(folder, path), mode);
  return join(folder, path);
}

test("what everybody can read is used where it is", () => {
  const program = {
    launcher: put("bin/pilot-agent", "", 0o755),
    node: put("bin/node", "", 0o755),
    envoy: put("bin/envoy", "", 0o755),
  };
  put("dist/main.js", "");
  put("dist/chunks/a.js", "");
  expect(sharedProgram(program, join(folder, "copy"))).toEqual(program);
});

test("what lies in a closed folder is copied, without source maps, and runs from there", () => {
  const launcher = put("closed/bin/pilot-agent", '#!/bin/sh\nexec "$NODE" "$(dirname "$0")/../dist/main.js"\n', 0o700);
  put("closed/bin/prepared.cjs", "");
  put("closed/dist/main.js", 'import { word } from "./chunks/a.js"; console.log(word);', 0o600);
  put("closed/dist/chunks/a.js", 'export const word = "runs";', 0o600);
  put("closed/dist/main.js.map", "{}");
  const envoy = put("closed/envoy", "#!/bin/sh\n", 0o700);
  chmodSync(join(folder, "closed"), 0o700);
  const shared = sharedProgram({ launcher, node: process.execPath, envoy }, join(folder, "copy"));
  expect(shared.envoy).toBe(join(folder, "copy/envoy"));
  expect([shared.envoy, shared.launcher, join(folder, "copy/bin/prepared.cjs")].every(isPublic)).toBe(true);
  const env = { PATH: process.env.PATH ?? "", NODE: process.execPath };
  expect(execFileSync(shared.launcher, { encoding: "utf8", env })).toBe("runs\n");
  expect(commandObstacle(join(folder, "copy/dist/main.js.map"), "/", "")).toContain("is not there");
});

test.each([
  { program: "sh", path: "/usr/bin:/bin", obstacle: undefined },
  { program: "no-such-program", path: "/usr/bin:/bin", obstacle: "no-such-program is not on PATH" },
  { program: "/no/such/program", path: "", obstacle: "/no/such/program is not there or not executable" },
])("$program: $obstacle", ({ program, path, obstacle }) => {
  expect(commandObstacle(program, "/", path)).toBe(obstacle);
});

test("a relative program is looked for in the workload's directory, and must be executable", () => {
  put("run.sh", "", 0o755);
  put("data.txt", "", 0o644);
  expect(commandObstacle("./run.sh", folder, "")).toBeUndefined();
  expect(commandObstacle("./data.txt", folder, "")).toContain("data.txt is not there or not executable");
});
