import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { silentLogger } from "../base/logger.ts";
import { type DetectOptions, detectBackend, findBackends, otherBackends } from "./detect-backend.ts";
import type { NetworkContext } from "./network-context.ts";
import type { ProgramResult } from "./run-program.ts";

const folder = mkdtempSync(join(tmpdir(), "capture-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, "ip_tables_names"), "nat\n");

const RULES = "*nat\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -p tcp -j ACCEPT\nCOMMIT\n";
const EMPTY_TABLE = "*nat\n:OUTPUT ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\nCOMMIT\n";
const OURS = "*nat\n:OUTPUT ACCEPT [0:0]\n:ISTIO_OUTPUT - [0:0]\nCOMMIT\n";
const MISSING: ProgramResult = { code: undefined, stdout: "", stderr: "", missing: true, failure: "not found" };

/** Programs by name; what is not listed does not exist. */
function options(
  programs: Readonly<Record<string, string | ProgramResult>>,
  more: Partial<DetectOptions> = {},
): DetectOptions {
  const context: NetworkContext = {
    procNet: folder,
    lockFile: undefined,
    run: async ({ program, args }) => {
      const found = programs[[program, ...args].join(" ")];
      if (found === undefined) return { ...MISSING, failure: `exec: "${program}": executable file not found in $PATH` };
      return typeof found === "string" ? { code: 0, stdout: found, stderr: "" } : found;
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  return { forceBinary: "", ipv6: false, context, log: silentLogger, ...more };
}

const both = (nft: string, legacy: string) => ({
  "iptables-nft-save": nft,
  "ip6tables-nft-save": "",
  "iptables-legacy-save": legacy,
  "ip6tables-legacy-save": "",
  "iptables-legacy-save --version": "iptables-save v1.8.9 (legacy)",
});

test.each([
  { what: "both are empty", programs: both("", ""), kind: "nft" },
  { what: "legacy tables exist but hold nothing", programs: both("", EMPTY_TABLE), kind: "nft" },
  { what: "legacy has rules", programs: both("", RULES), kind: "legacy" },
  { what: "ours are in nft already, regardless of what legacy has", programs: both(OURS, RULES), kind: "nft" },
  { what: "ours are in legacy already", programs: both(RULES, OURS), kind: "legacy" },
  { what: "only nft works", programs: { "iptables-nft-save": "", "ip6tables-nft-save": "" }, kind: "nft" },
])("when $what, $kind is used", async ({ programs, kind }) => {
  expect(await detectBackend(options(programs))).toMatchObject({ kind });
});

test("a plain iptables is asked what it is", async () => {
  const plain = (version: string) => ({
    "iptables-save": "",
    "ip6tables-save": "",
    "iptables-save --version": version,
  });
  expect(await detectBackend(options(plain("iptables-save v1.8.7 (nf_tables)")))).toMatchObject({
    kind: "nft",
    wait: [],
  });
  expect(await detectBackend(options(plain("iptables-save v1.6.2")))).toMatchObject({
    kind: "legacy",
    wait: ["--wait=30"],
  });
  expect(await detectBackend(options(plain("iptables-save v1.4.21")))).toMatchObject({ kind: "legacy", wait: [] });
});

test("a forced variant is used or its absence is the error", async () => {
  expect(await detectBackend(options(both("", RULES), { forceBinary: "nft" }))).toMatchObject({ kind: "nft" });
  await expect(detectBackend(options({}, { forceBinary: "legacy" }))).rejects.toThrow(
    'failed to execute iptables-legacy-save: exec: "iptables-legacy-save": executable file not found in $PATH',
  );
});

test("a program that refuses says more than one that is missing", async () => {
  const refused = {
    code: 4,
    stdout: "",
    stderr: "Could not fetch rule set generation id: Permission denied (you must be root)",
  };
  await expect(detectBackend(options({ "iptables-nft-save": refused }))).rejects.toThrow(
    /exit status 4: xtables resource problem: .*must be root/,
  );
});

test("a missing ip6tables is an error only where IPv6 is captured", async () => {
  const programs = { "iptables-nft-save": "" };
  expect(await detectBackend(options(programs))).toMatchObject({ programs: { v6: undefined } });
  await expect(detectBackend(options(programs, { ipv6: true }))).rejects.toThrow('exec: "ip6tables-nft-save"');
});

test("the error of an ip6tables that refuses is reported", async () => {
  const refused = { code: 3, stdout: "", stderr: "ip6tables-save: can't initialize: Address family not supported" };
  const programs = { "iptables-nft-save": "", "ip6tables-nft-save": refused };
  await expect(detectBackend(options(programs, { ipv6: true }))).rejects.toThrow(
    /failed to execute ip6tables-nft-save: exit status 3: .*Address family not supported/,
  );
});

test("cleaning looks at every variant that there is", async () => {
  expect((await findBackends(options(both(OURS, OURS)))).map(({ kind }) => kind)).toEqual(["nft", "legacy"]);
  const plain = { "iptables-save": OURS, "ip6tables-save": "", "iptables-save --version": "v1.8.9 (nf_tables)" };
  expect((await findBackends(options(plain))).map(({ programs }) => programs.v4)).toEqual(["iptables"]);
});

test.each([
  { own: "native", programs: both("", ""), others: ["iptables-nft", "iptables-legacy"] },
  { own: "nft", programs: both("", ""), others: ["iptables-legacy"] },
  { own: "legacy", programs: both("", ""), others: ["iptables-nft"] },
  { own: "native", programs: { "iptables-save": "", "iptables-save --version": "v1.8.9" }, others: ["iptables"] },
  { own: "nft", programs: { "iptables-save": "", "iptables-save --version": "v1.8.9" }, others: [] },
  { own: "native", programs: {}, others: [] },
] as const)("beside $own there may be $others", async ({ own, programs, others }) => {
  const found = await otherBackends(options(programs).context, own);
  expect(found.map((backend) => backend.programs.v4)).toEqual(others);
});
