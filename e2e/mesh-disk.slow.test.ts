import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { pairFile } from "../test/support/mesh/pair.ts";
import { leftovers, type MeshRun, startMeshRun } from "../test/support/mesh/run.ts";
import { needs } from "../test/support/needs.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";
import { freePort } from "../test/support/net/free-ports.ts";
import { until } from "../test/support/wait/until.ts";

beforeEach(needs("envoy", "tmpfs"));

async function ask(mesh: MeshRun): Promise<string> {
  const { entries } = await mesh.status();
  return (await fetchAnswer(`${entries.web}/`)).body;
}

/** A disk of its own for the state, so small that it can be filled. */
function smallDisk(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), "mesh-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m", "mesh-test", path]);
  return {
    path,
    [Symbol.dispose]() {
      execFileSync("umount", ["-l", path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

function fill(disk: string): void {
  // Ends with an error when the disk is full, which is the aim.
  execFileSync("sh", ["-c", `dd if=/dev/zero of=${disk}/fill bs=4k 2>/dev/null || true`]);
}

test("a full disk at the start is reported and leaves nothing", async () => {
  using disk = smallDisk();
  fill(disk.path);
  await using mesh = startMeshRun({
    file: pairFile({ port: await freePort() }),
    args: ["--isolation", "none", "--state-dir", join(disk.path, "state")],
  });
  expect(await mesh.exited).toBe(1);
  expect(mesh.output()).toMatch(/Error: .*ENOSPC/);
});

test("a disk that fills while the mesh runs costs log lines, no request, and mesh down still cleans up", async () => {
  using disk = smallDisk();
  await using mesh = startMeshRun({
    file: pairFile({ port: await freePort() }),
    args: ["--isolation", "none"],
    folder: disk.path,
  });
  await mesh.untilUp();
  const state = mesh.state();
  fill(disk.path);
  await until(() => (mesh.output().includes("logs were cut off to go on") ? undefined : "not noticed"));
  for (let times = 0; times < 20; times += 1) expect(await ask(mesh)).toMatch(/^hello /);
  await mesh.cli("kill", "hello/app");
  await until(async () => ((await ask(mesh)).startsWith("hello ") ? undefined : "the application is not back"));
  expect(await mesh.cli("down")).toMatchObject({ code: 0 });
  expect(await leftovers(state)).toEqual([]);
});
