import { mkdirSync, symlinkSync } from "node:fs";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { programCall } from "./up-program.ts";

test("the program is called by its name only where that leads to it, else by its path, and as npx where it was", () => {
  using folder = temporaryFolder({
    files: { "home/bin/pilot-agent": "", "my tools/bin/pilot-agent": "", "istio/pilot-agent": "" },
  });
  mkdirSync(folder.file("links"));
  const launcher = folder.file("home/bin/pilot-agent");
  symlinkSync(launcher, folder.file("links/pilot-agent"));
  const call = (PATH: string, more: Partial<Parameters<typeof programCall>[0]> = {}) =>
    programCall({ env: { PATH }, launcher, cwd: folder.file("links"), ...more });
  expect(call(`/nowhere:${folder.file("home/bin")}`)).toBe("pilot-agent");
  expect(call(folder.file("links"))).toBe("pilot-agent");
  expect(call("/usr/bin")).toBe(launcher);
  expect(call("")).toBe(launcher);
  expect(call("/usr/bin", { cwd: folder.file("home") })).toBe("./bin/pilot-agent");
  // Another program of the same name comes first.
  expect(call(`${folder.file("istio")}:${folder.file("home/bin")}`)).toBe(launcher);
  expect(call("/usr/bin", { launcher: folder.file("my tools/bin/pilot-agent") })).toBe(
    `'${folder.file("my tools/bin/pilot-agent")}'`,
  );
  expect(call("/usr/bin", { env: { npm_command: "exec", npm_package_name: "pilot-agent" } })).toBe("npx pilot-agent");
});
