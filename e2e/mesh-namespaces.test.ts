import { chmodSync, cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { pairFile } from "../test/support/mesh/pair.ts";
import { startMeshRun } from "../test/support/mesh/run.ts";
import { needs } from "../test/support/needs.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";

beforeEach(needs("envoy", "netns", "iptables", "setpriv"));

const root = resolve(import.meta.dirname, "..");

test("agents run although the project lies where only root can enter", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mesh-closed-"));
  const project = join(folder, "project");
  for (const name of ["bin", "dist", "package.json"])
    cpSync(join(root, name), join(project, name), { recursive: true });
  chmodSync(project, 0o700);
  await using mesh = startMeshRun({ file: pairFile({ port: 8483 }), program: join(project, "bin/pilot-agent") });
  await mesh.untilUp();
  const { entries } = await mesh.status();
  expect((await fetchAnswer(`${entries.web}/`)).body).toBe(`hello ${mesh.state().name}`);
  rmSync(folder, { recursive: true, force: true });
});

test("a state folder that agents could not enter is refused before anything is made", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mesh-shut-"));
  chmodSync(folder, 0o700);
  await using mesh = startMeshRun({ file: pairFile({ port: 8488 }), args: ["--state-dir", join(folder, "state")] });
  expect(await mesh.exited).toBe(1);
  expect(mesh.output()).toMatch(
    /Error: .* cannot be entered by user 1337, which agents run as; choose another --state-dir/,
  );
  rmSync(folder, { recursive: true, force: true });
});

test("a service that already runs outside is reached by its name, and names of others fail at once", async () => {
  const outside = createServer((_, response) => response.end("from outside")).listen(0, "127.0.0.1");
  await new Promise((ready) => outside.once("listening", ready));
  const address = outside.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const more = `  shelf: {port: 8485, address: "127.0.0.1:${port}"}\n`;
  const file = pairFile({ port: 8484, more }).replace("calls: [hello]", "calls: [hello, shelf]");
  await using mesh = startMeshRun({ file });
  await mesh.untilUp();
  const { stdout } = await mesh.cli("exec", "web", "--", "curl", "-s", "-m", "30", "http://shelf:8485/");
  expect(stdout).toBe("from outside");
  expect((await mesh.cli("exec", "web", "--", "curl", "-s", "-m", "4", "http://example.test/")).code).toBe(6);
  await new Promise((closed) => outside.close(closed));
});

test("names resolve to virtual addresses, by short and by full name", async () => {
  await using mesh = startMeshRun({ file: pairFile({ port: 8486 }) });
  await mesh.untilUp();
  const virtual = mesh.state().plan?.services.find(({ name }) => name === "hello")?.virtualAddress;
  for (const name of ["hello", "hello.pair", "hello.pair.svc.cluster.local"]) {
    const { stdout } = await mesh.cli("exec", "web", "--", "getent", "ahostsv4", name);
    expect(stdout.split(" ")[0]).toBe(virtual);
  }
});
