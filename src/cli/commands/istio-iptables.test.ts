import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createLog } from "../../base/log/log.ts";
import { silentLogger } from "../../base/logger.ts";
import type { Command } from "../framework/command.ts";
import { createFlagValues } from "../framework/flag-values.ts";
import { parseFlags } from "../framework/parse-flags.ts";
import { command as clean } from "./istio-clean-iptables.ts";
import { command as iptables } from "./istio-iptables.ts";

/** Runs a command as the program would, dry, and keeps what it says. */
async function run(command: Command, words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const parsed = parseFlags(command.flags, words, false);
  const said: string[] = [];
  const printed: string[] = [];
  const add = (level: string) => (text: string) => void said.push(`${level} ${text}`);
  const log = { ...silentLogger, info: add("info"), warn: add("warn"), error: add("error") };
  const code = await command.run?.({
    args: parsed.args,
    flags: createFlagValues(command.flags, parsed.set, env),
    env,
    log,
    signal: new AbortController().signal,
    onSignal: () => undefined,
    uptimeMs: () => 0,
    logRoot: createLog(Date.now),
    commandLine: [],
    words: [],
    isTerminal: false,
    print: (text) => void printed.push(text),
    printError: () => undefined,
  });
  return { code, said: said.join("\n"), printed: printed.join("") };
}

function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "capture-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "record");
}

test("a dry run logs the text, replaces the file and skips routes", async () => {
  const file = temporaryFile();
  writeFileSync(file, "old\n".repeat(1000));
  const { code, said } = await run(iptables, ["-u", "1337", "-b", "*", "--dry-run"], { DRY_RUN_FILE_PATH: file });
  expect(code).toBe(0);
  expect(said).toContain("info running iptables in dry-run mode, no rule changes will be made");
  expect(said).toContain(
    "Running iptables restore with: iptables-restore and the following input:\n* nat\n-N ISTIO_INBOUND",
  );
  expect(said).toContain("info skipping configuring routes due to dry run mode");
  const lines = readFileSync(file, "utf8").split("\n");
  expect(lines.slice(0, 3)).toEqual(["iptables-save", "ip6tables-save", "* nat"]);
  expect(lines).not.toContain("old");
});

test.each([
  { name: "rules", args: ["-b", "*"], first: "add table inet istio-proxy-nat\n" },
  {
    name: "a removal",
    args: ["--cleanup-only"],
    first: "add table inet istio-proxy-nat\ndelete table inet istio-proxy-nat\n",
  },
])("a dry run for nftables shows $name as one transaction", async ({ args, first }) => {
  const { code, said } = await run(iptables, [...args, "--native-nftables", "--dry-run"], {});
  expect(code).toBe(0);
  expect(said).toContain("info running nftables in dry-run mode, no rule changes will be made");
  expect(said).toContain(`info nftables rules programmed:\n${first}`);
  expect(said).not.toContain("iptables restore");
});

test("spaces around the elements of a list mean nothing", async () => {
  const file = temporaryFile();
  const lists = ["-b", "80, 443", "-i", "10.0.0.0/8 , 11.0.0.0/8", "-u", "1337, 1338"];
  expect(await run(iptables, [...lists, "--dry-run"], { DRY_RUN_FILE_PATH: file })).toMatchObject({ code: 0 });
  const lines = readFileSync(file, "utf8").split("\n");
  expect(lines).toContain("-A ISTIO_INBOUND -p tcp --dport 443 -j ISTIO_IN_REDIRECT");
  expect(lines).toContain("-A ISTIO_OUTPUT -d 11.0.0.0/8 -j ISTIO_REDIRECT");
  expect(lines).toContain("-A ISTIO_OUTPUT -m owner --uid-owner 1338 -j RETURN");
});

test("an unwritable record file is a warning", async () => {
  const { code, said } = await run(iptables, ["-n"], { DRY_RUN_FILE_PATH: "/nowhere/at/all" });
  expect(code).toBe(0);
  expect(said).toContain("warn cannot write DRY_RUN_FILE_PATH /nowhere/at/all");
});

test("the nftables dry run shows the transaction and runs nothing", async () => {
  const { said } = await run(iptables, ["-n", "--native-nftables"]);
  expect(said).toContain("add table inet istio-proxy-nat");
});

test("1.7 prints its banner, its rules files and its commands on stdout", async () => {
  const { printed } = await run(iptables, ["-n", "-u", "1337"], { PILOT_AGENT_GENERATION: "1.7" });
  expect(printed).toMatch(/^Environment:\n-{12}\nENVOY_PORT=\n/);
  expect(printed).toMatch(/\nWriting following contents to rules file: {2}\S+\/iptables-rules-\d+\.txt\d+\n\* nat\n/);
  expect(printed).toMatch(
    /\niptables-restore --noflush \S+\/iptables-rules-\S+\nip6tables-restore --noflush \S+\nip(6)?tables-save \n/,
  );
});

test("wrong settings are logged one by one and end with code 1", async () => {
  const { code, said } = await run(iptables, ["-n", "-m", "tproxy", "-b", "http"]);
  expect(code).toBe(1);
  expect(said.match(/^error /gm)).toHaveLength(2);
});

test("variables stand in for flags, and those that cannot be read are named", async () => {
  const env = { ISTIO_INBOUND_PORTS: "7777", ENVOY_PORT: "15999", DUAL_STACK: "maybe", INBOUND_TUNNEL_PORT: "" };
  const { said } = await run(iptables, ["-n"], env);
  expect(said).toContain("--dport 7777 -j ISTIO_IN_REDIRECT");
  expect(said).toContain("--to-ports 15999");
  expect(said).toContain("--dport 15008 -j RETURN");
  expect(said).toMatch(/warn ignoring environment variable DUAL_STACK: .*"maybe"/);
});

test("the more specific variable wins, an empty group list means all", async () => {
  const env = { REDIRECT_DNS: "true", ISTIO_META_DNS_CAPTURE: "false", ISTIO_OUTBOUND_OWNER_GROUPS: "" };
  const { said } = await run(iptables, ["-n"], env);
  expect(said).toContain("DNS_CAPTURE=false");
  expect(said).toContain("OUTBOUND_OWNER_GROUPS_INCLUDE=*");
  expect(said).toContain("warn ISTIO_OUTBOUND_OWNER_GROUPS is empty");
});

test("an unknown generation is refused by name", async () => {
  const { code, said } = await run(iptables, ["-n"], { PILOT_AGENT_GENERATION: "2.0" });
  expect(code).toBe(1);
  expect(said).toContain('PILOT_AGENT_GENERATION is "2.0", allowed are master, 1.20');
});

test("skipping rules without validation does nothing at all", async () => {
  expect(await run(iptables, ["--skip-rule-apply"])).toMatchObject({ code: 0, printed: "" });
});

test("explain prints words and a table, or the way of one packet", async () => {
  const table = await run(iptables, ["explain", "-i", "*", "-b", "*"]);
  expect(table.printed).toContain("Outbound: TCP to all destinations goes to Envoy on port 15001.");
  expect(table.printed).toMatch(/^Traffic +Packet +What happens +Decided by$/m);
  const packet = await run(iptables, [
    "explain",
    "-i",
    "*",
    "--packet",
    "tcp 127.0.0.1:1 -> 10.9.9.9:443 uid 1000 out eth0",
  ]);
  expect(packet.printed).toContain("Fate      to Envoy (outbound) on port 15001");
  expect(await run(iptables, ["explain", "--packet", "nonsense"])).toMatchObject({ code: 1 });
});

test("flags of older generations are accepted", async () => {
  const words = ["-n", "-f=false", "--iptables-version", "x", "--iptables-trace-logging", "init"];
  const { code, said } = await run(iptables, words, { PILOT_AGENT_GENERATION: "1.20" });
  expect(code).toBe(0);
  expect(said).toContain('info iptables -t nat -A OUTPUT -p tcp -j NFLOG --nflog-prefix "JumpOutbound"');
});

test("the clean command's dry run lists what 1.20 ran, in 1.7 on stdout", async () => {
  const file = temporaryFile();
  const { code, said } = await run(clean, ["-n"], { DRY_RUN_FILE_PATH: file });
  expect(code).toBe(0);
  expect(said).toMatch(/^info iptables -t nat -D PREROUTING -p tcp -j ISTIO_INBOUND$/m);
  expect(readFileSync(file, "utf8")).toMatch(/iptables-save\nip6tables-save\n$/);
  const first = await run(clean, ["-n"], { PILOT_AGENT_GENERATION: "1.7" });
  expect(first.printed).toMatch(/^iptables -t nat -D PREROUTING/);
});

test("the clean command's dry run knows TPROXY by variable and refuses too many groups", async () => {
  const { said } = await run(clean, ["-n"], { INBOUND_INTERCEPTION_MODE: "TPROXY", INBOUND_TPROXY_MARK: "99" });
  expect(said).toContain("-t mangle -D PREROUTING -p tcp -m mark --mark 99 -j CONNMARK --save-mark");
  const groups = Array.from({ length: 65 }, (_, index) => index).join(",");
  await expect(run(clean, ["-n"], { ISTIO_OUTBOUND_OWNER_GROUPS: groups })).rejects.toThrow("cannot exceed 64, got 65");
});

test.each([
  { value: "1", captures: true },
  { value: "TRUE", captures: true },
  { value: "yes", captures: false },
])("the clean command reads CAPTURE_ALL_DNS=$value as other variables are read", async ({ value, captures }) => {
  const { said } = await run(clean, ["-n", "--redirect-dns"], { CAPTURE_ALL_DNS: value });
  expect(said.includes("-t nat -D OUTPUT -p udp --dport 53 -j REDIRECT --to-port 15053")).toBe(captures);
});
