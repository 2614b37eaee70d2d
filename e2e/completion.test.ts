import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startMeshRun } from "../test/support/mesh/run.ts";
import { needs } from "../test/support/needs.ts";
import { PROGRAM } from "../test/support/process/program.ts";
import { openTerminal } from "../test/support/process/terminal.ts";

const exec = promisify(execFile);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "completion-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What bash would offer for the line, whose last word is the one under the cursor. */
async function bashOffers(...words: string[]): Promise<string[]> {
  const script = `source <("$1" completion bash); shift
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); __start_pilot-agent; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = { ...process.env, PATH: `${dirname(PROGRAM)}:${process.env.PATH}` };
  const { stdout } = await exec("bash", ["-c", script, "bash", PROGRAM, ...words], { env });
  return stdout.trim().split("\n");
}

test("bash completes commands, sub-commands and flags", async () => {
  expect(await bashOffers("pilot-agent", "istio-")).toEqual(["istio-clean-iptables", "istio-iptables"]);
  expect(await bashOffers("pilot-agent", "completion", "")).toEqual(["bash", "fish", "powershell", "zsh"]);
  expect(await bashOffers("pilot-agent", "wait", "--per")).toEqual(["--periodMillis="]);
  expect(await bashOffers("pilot-agent", "nothing-like-it")).toEqual([""]);
});

test("bash completes values of flags and arguments that are known beforehand", async () => {
  expect(await bashOffers("pilot-agent", "mesh", "up", "--isolation", "n")).toEqual(["namespaces", "none"]);
  expect(await bashOffers("pilot-agent", "mesh", "up", "--isolation", "=", "na")).toEqual(["namespaces"]);
  expect(await bashOffers("pilot-agent", "mesh", "up", "--isolation", "=")).toEqual(["auto", "namespaces", "none"]);
  expect(await bashOffers("pilot-agent", "mesh", "status", "-o", "")).toEqual(["json", "table"]);
  expect(await bashOffers("pilot-agent", "mesh", "proxy-config", "cl")).toEqual(["clusters"]);
  expect(await bashOffers("pilot-agent", "proxy", "s")).toEqual(["sidecar"]);
  expect(await bashOffers("pilot-agent", "mesh", "exec", "web", "--", "")).toEqual([""]);
});

test("without a mesh there is nothing to offer, and no error either", async () => {
  expect(await bashOffers("pilot-agent", "mesh", "logs", "--state-dir", folder, "")).toEqual([""]);
  expect(await bashOffers("pilot-agent", "mesh", "get", "--state-dir", folder, "")).toEqual([""]);
});

test("a bash on a terminal completes names of workloads, services, parts and objects of the running mesh", async (context) => {
  needs("envoy")(context);
  const rule =
    "  - {apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: all-of-web}, spec: {hosts: [web], http: [{route: [{destination: {host: web}}]}]}}";
  const file = `services:
  web:
    port: 18080
    calls: []
    versions: {blue: {}, green: {}}
    command: exec node -e 'require("http").createServer().listen(process.env.PORT, process.env.HOST)'
config:
${rule}
`;
  await using mesh = startMeshRun({ file, args: ["-d", "--isolation", "none", "--console=off"] });
  expect([await mesh.exited, mesh.output()]).toEqual([0, expect.any(String)]);
  const env = {
    PATH: `${dirname(PROGRAM)}:${process.env.PATH}`,
    PILOT_AGENT_MESH_DIR: dirname(mesh.stateFolder),
  };
  await using bash = openTerminal(["bash", "--noprofile", "--norc", "-i"], { env, cwd: mesh.folder });
  bash.type("source <(pilot-agent completion bash); bind 'set enable-bracketed-paste off'; echo begun\n");
  await bash.shows(/^begun/m);
  for (const { typed, becomes } of [
    { typed: "pilot-agent mesh logs web-g\t", becomes: "web-green" },
    // Up to where the agent and the application differ.
    { typed: "pilot-agent mesh restart web-b\tp\t", becomes: "web-blue/app" },
    { typed: "pilot-agent mesh describe virtuals\tall\t", becomes: "virtualservice all-of-web" },
    { typed: "pilot-agent mesh status --name=\t", becomes: `--name=${mesh.state().name}` },
    { typed: "pilot-agent mesh proxy-config cl\tweb-g\t", becomes: "clusters web-green" },
  ]) {
    bash.type(typed);
    await bash.shows(becomes);
    // The line is given up.
    bash.type("\u0003");
    await bash.shows(/[#$>] $/);
  }
});

test.each(["bash", "zsh", "fish", "powershell"])(
  "the script for %s asks the hidden command, with or without descriptions",
  async (shell) => {
    expect((await exec(PROGRAM, ["completion", shell])).stdout).toContain("__complete ");
    expect((await exec(PROGRAM, ["completion", shell, "--no-descriptions"])).stdout).toContain("__completeNoDesc ");
  },
);

test("collateral writes every kind of document for every command", async () => {
  const { stdout } = await exec(PROGRAM, ["collateral", "--all", "-o", folder]);
  expect(stdout).toContain("man: ");
  const files = readdirSync(folder);
  for (const name of [
    "pilot-agent.bash",
    "_pilot-agent",
    "pilot-agent.html",
    "pilot-agent_proxy.md",
    "pilot-agent-proxy.1",
    "pilot-agent_completion_zsh.yaml",
  ]) {
    expect(files).toContain(name);
  }
  const html = readFileSync(join(folder, "pilot-agent.html"), "utf8");
  expect(html).toContain("<code>ISTIO_META_DNS_CAPTURE</code>");
  expect(html).toContain("<code>istio_agent_xds_proxy_requests</code>");
  expect(html).toContain("istio-iptables");
});

test("collateral without a kind says which there are", async () => {
  await expect(exec(PROGRAM, ["collateral"])).rejects.toMatchObject({
    code: 255,
    stderr: expect.stringContaining("--markdown, --man, --bash"),
  });
});
