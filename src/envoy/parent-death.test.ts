import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { needs } from "../../test/support/needs.ts";
import { silentLogger } from "../base/logger.ts";
import { startParentDeathGuard } from "./parent-death.ts";

const folder = mkdtempSync(join(tmpdir(), "setpriv-"));
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(needs("setpriv"));

test("the setpriv of the machine is put in front of Envoy", async () => {
  const guard = await startParentDeathGuard(silentLogger, { searchPath: process.env.PATH ?? "" });
  expect(guard.method).toBe("pdeathsig");
  expect(guard.wrap("/envoy", ["-c", "f"])).toEqual({
    file: expect.stringMatching(/^\/.*\/setpriv$/),
    args: ["--pdeathsig", "KILL", "--", "/envoy", "-c", "f"],
  });
  await guard.close();
});

test.each([
  { what: "is missing", text: undefined, mode: 0o755 },
  { what: "does not know the option", text: "#!/bin/sh\n# setpriv of another kind\n", mode: 0o755 },
  { what: "may not be executed", text: "#!/bin/sh\n# --pdeathsig\n", mode: 0o644 },
])("where setpriv $what, a shell watches", async ({ text, mode }) => {
  const path = mkdtempSync(join(folder, "bin-"));
  if (text !== undefined) writeFileSync(join(path, "setpriv"), text, { mode });
  const guard = await startParentDeathGuard(silentLogger, { searchPath: path });
  expect(guard.method).toBe("watchdog");
  expect(guard.wrap("/envoy", ["-c", "f"])).toEqual({ file: "/envoy", args: ["-c", "f"] });
  await guard.close();
});
