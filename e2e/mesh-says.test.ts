import { chmodSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../test/support/files/temporary-folder.ts";
import { type MeshRun, startMeshRun } from "../test/support/mesh/run.ts";
import { has, needs } from "../test/support/needs.ts";
import { until } from "../test/support/wait/until.ts";

const FILE = `
services:
  talk: {calls: [], command: echo listening soon; exec sleep 100000}
  late: {port: 8081, calls: [], command: exec sleep 100000}
  crash: {port: 8082, calls: [], command: "echo connecting; echo 'Error: no database' >&2; exit 3"}
`;

/** Unlike the other files this one looks at what a user reads while a mesh does not come up. */
describe("a mesh of which not everything works", () => {
  let mesh: MeshRun;
  const says = (text: RegExp) => until(() => text.test(mesh.output()) || `no ${text} in ${mesh.output()}`);
  beforeAll(() => {
    if (has("envoy")) mesh = startMeshRun({ file: FILE, args: ["--isolation", "none"] });
  });
  afterAll(async () => {
    if (has("envoy")) await mesh[Symbol.asyncDispose]();
  });
  beforeEach(needs("envoy"));

  test("the output of applications is shown with the name of the workload", () => says(/^talk +\| listening soon$/m));

  test("who waits for long is told with what it waits for", async () => {
    await says(/^late\/app: nothing listens on port \d+ yet \(for \d+ s\)$/m);
  });

  test("a crash is shown with the last words of the application, and the reason in status has them", async () => {
    await says(/^crash +\| Error: no database$/m);
    await says(/crash\/app: exit code 3; starting it again in /);
    await until(async () => {
      const { stdout } = await mesh.cli("status");
      return /crash-loop .* app: exit code 3: Error: no database/.test(stdout) || stdout;
    });
  });
});

test("with --quiet applications are not shown, a crash is all the same; --attach shows one alone", async (context) => {
  needs("envoy")(context);
  await using quiet = startMeshRun({ file: FILE, args: ["--isolation", "none", "--quiet"] });
  await using attached = startMeshRun({ file: FILE, args: ["--isolation", "none", "--attach", "talk"] });
  await until(() => quiet.output().includes("\n  crash/app | Error: no database\n") || quiet.output(), 60_000);
  await until(() => /^talk +\| listening soon$/m.test(attached.output()) || attached.output(), 60_000);
  expect(quiet.output()).not.toMatch(/^talk +\|/m);
  expect(attached.output()).not.toMatch(/^crash +\|/m);
});

test("Envoy's own reason is shown when it cannot start", async (context) => {
  needs("envoy")(context);
  const script = `#!/bin/sh
case "$*" in *--version*) echo "envoy  version: 0/1.40.0/Clean/RELEASE/BoringSSL"; exit;; esac
echo "[2026-11-17 19:07:45.894][1][critical][main] [source/server/server.cc:422] cannot bind '0.0.0.0:15090': Address already in use" >&2
exit 1
`;
  using folder = temporaryFolder({ files: { envoy: script } });
  chmodSync(folder.file("envoy"), 0o755);
  const env = { ENVOY_BIN: folder.file("envoy") };
  await using mesh = startMeshRun({ file: FILE, args: ["--isolation", "none"], env });
  const told =
    "talk/envoy: exit status 1: cannot bind '0.0.0.0:15090': Address already in use; its agent starts it again";
  await until(() => mesh.output().includes(told) || mesh.output());
});
