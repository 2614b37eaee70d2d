import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { NO_NAMES } from "../../test/support/capture/owner-names.ts";
import { silentLogger } from "../base/logger.ts";
import type { ApplyOptions } from "./apply-options.ts";
import { DEFAULT_OPTIONS, DEFAULT_SETTINGS } from "./core/settings.ts";
import {
  findInstalledRules,
  findOtherRules,
  type InstalledRules,
  refuseOthers,
  replaceOthers,
} from "./installed-rules.ts";
import type { ProgramResult } from "./run-program.ts";

const OURS = "*nat\n:OUTPUT ACCEPT [0:0]\n:ISTIO_OUTPUT - [0:0]\n-A OUTPUT -j ISTIO_OUTPUT\nCOMMIT\n";
const RETURN_LIKE_OURS = "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -i eth9 -j RETURN\nCOMMIT\n";
const NATIVE = { "nft list tables inet": "table inet istio-proxy-mangle\ntable inet other\n" };
const DIVERT = { rule: { chain: "istio-divert", expr: [{ mangle: { key: { meta: { key: "mark" } }, value: 99 } }] } };

/** Programs by command line; what is not listed does not exist. */
function machine(programs: Readonly<Record<string, string | ProgramResult>>, change: Partial<ApplyOptions> = {}) {
  const procNet = mkdtempSync(join(tmpdir(), "capture-"));
  onTestFinished(() => rmSync(procNet, { recursive: true, force: true }));
  writeFileSync(join(procNet, "ip_tables_names"), "nat\n");
  const written: string[] = [];
  const warnings: string[] = [];
  const given: ApplyOptions = {
    settings: { ...DEFAULT_SETTINGS, excludeInterfaces: "eth9" },
    options: DEFAULT_OPTIONS,
    names: NO_NAMES,
    log: { ...silentLogger, warn: (text) => void warnings.push(text) },
    context: {
      procNet,
      lockFile: undefined,
      run: async ({ program, args, input }) => {
        const found = programs[[program, ...args].join(" ")];
        if (input !== undefined) written.push(`${program} ${input}`);
        if (found === undefined)
          return { code: undefined, stdout: "", stderr: "", missing: true, failure: "not found" };
        return typeof found === "string" ? { code: 0, stdout: found, stderr: "" } : found;
      },
      [Symbol.asyncDispose]: async () => undefined,
    },
    hasNative: async () => false,
    ...change,
  };
  return { given, written, warnings };
}

const iptables = (nft: string, legacy: string) => ({
  "iptables-nft-save": nft,
  "ip6tables-nft-save": nft,
  "iptables-legacy-save": legacy,
  "ip6tables-legacy-save": "",
});

const names = (places: readonly InstalledRules[]) => places.map(({ name }) => name);

test("rules are found by IP version in every program, and natively", async () => {
  const { given } = machine({ ...iptables(OURS, OURS), ...NATIVE });
  expect(names(await findInstalledRules(given))).toEqual([
    "native nftables",
    "iptables-nft",
    "ip6tables-nft",
    "iptables-legacy",
  ]);
});

test.each([
  { own: "native", others: ["iptables-nft", "ip6tables-nft", "iptables-legacy"] },
  { own: "nft", others: ["native nftables", "iptables-legacy"] },
  { own: "legacy", others: ["native nftables", "iptables-nft", "ip6tables-nft"] },
] as const)("a run that writes $own finds the rules elsewhere", async ({ own, others }) => {
  const { given } = machine({ ...iptables(OURS, OURS), ...NATIVE });
  expect(names(await findOtherRules(given, own))).toEqual(others);
});

test("a rule that only looks like ours is cleaned with the flags that make it, and is not a reason to refuse a run", async () => {
  const { given } = machine(iptables(RETURN_LIKE_OURS, ""));
  expect(names(await findInstalledRules(given))).toEqual(["iptables-nft", "ip6tables-nft"]);
  expect(await findOtherRules(given, "native")).toEqual([]);
});

test("native tables of ours go in one transaction that spares others, and their marks are known", async () => {
  const chain = { chain: { family: "inet", table: "t", name: "istio-divert" } };
  const { given, written } = machine({
    ...NATIVE,
    "nft -j list table inet istio-proxy-mangle": JSON.stringify({ nftables: [chain, DIVERT] }),
    "nft list table inet istio-proxy-mangle": "table inet istio-proxy-mangle { }\n",
    "nft -f -": "",
  });
  const [place] = await findInstalledRules(given);
  expect(place?.marks).toEqual(new Set([99]));
  const undo = await place?.remove();
  await undo?.();
  expect(written).toEqual([
    "nft add table inet istio-proxy-mangle\ndelete table inet istio-proxy-mangle\n",
    "nft table inet istio-proxy-mangle { }\n\n",
  ]);
});

test("one kind of program alone is enough; none at all is an error", async () => {
  expect(await findInstalledRules(machine({ "nft list tables inet": "" }).given)).toEqual([]);
  expect(await findInstalledRules(machine(iptables("", "")).given)).toEqual([]);
  await expect(findInstalledRules(machine({}).given)).rejects.toThrow("failed to execute iptables-save");
});

test("an ip6tables that cannot be used is a warning", async () => {
  const { given, warnings } = machine({ "iptables-nft-save": OURS });
  expect(names(await findInstalledRules(given))).toEqual(["iptables-nft"]);
  expect(warnings).toEqual([expect.stringContaining("IPv6 rules are not looked for: failed to execute ip6tables-nft")]);
});

/** A place that notes what is done to it. */
function place(name: string, done: string[], refusal?: string): InstalledRules {
  return {
    name,
    marks: new Set([7]),
    remove: async () => {
      if (refusal !== undefined) throw new Error(refusal);
      done.push(`${name} removed`);
      return async () => void done.push(`${name} put back`);
    },
  };
}

const reconciling = () => machine({}, { options: { ...DEFAULT_OPTIONS, reconcile: true } }).given;

test("rules elsewhere refuse a run that would write, and are a warning where it would not", () => {
  const { given, warnings } = machine({});
  const others = [place("one", []), place("two", [])];
  expect(() => refuseOthers(others, given, false)).toThrow(
    "rules of an earlier run are in force in one, two, and would act beside the new ones; nothing was changed. " +
      "Use --reconcile to replace them, or --cleanup-only to remove them first",
  );
  refuseOthers(others, given, true);
  expect(warnings).toEqual([expect.stringContaining("in force in one, two as well")]);
  refuseOthers([], given, false);
  refuseOthers(others, reconciling(), false);
});

test("with --reconcile the others go after the new rules are there, and everything goes back together", async () => {
  const done: string[] = [];
  const applied = { changed: false, marks: new Set([1]), undo: async () => void done.push("new undone") };
  const outcome = await replaceOthers([place("one", done), place("two", done)], applied, reconciling());
  expect(outcome).toMatchObject({ changed: true, marks: new Set([1, 7]) });
  await outcome.undo();
  expect(done).toEqual(["one removed", "two removed", "two put back", "one put back", "new undone"]);
  expect(await replaceOthers([], applied, reconciling())).toBe(applied);
});

test("one that cannot be removed brings everything back", async () => {
  const done: string[] = [];
  const applied = { changed: true, marks: new Set<number>(), undo: async () => void done.push("new undone") };
  const others = [place("one", done), place("two", done, "busy")];
  await expect(replaceOthers(others, applied, reconciling())).rejects.toThrow(
    "rules of an earlier run in two cannot be replaced: busy",
  );
  expect(done).toEqual(["one removed", "one put back", "new undone"]);
});
