import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PROGRAM } from "../test/support/process/program.ts";

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
