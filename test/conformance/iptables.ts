import { captureBanner } from "../../src/capture/core/banner.ts";
import { buildRules } from "../../src/capture/core/build-rules.ts";
import { cleanCommands } from "../../src/capture/core/compat/clean-commands.ts";
import { commandLines, dryRun, restoreInputs } from "../../src/capture/core/dry-run.ts";
import { GENERATION_SHAPES } from "../../src/capture/core/generations.ts";
import type { IptablesRule } from "../../src/capture/core/iptables-args.ts";
import * as text from "../../src/capture/core/iptables-text.ts";
import { parseKernelState } from "../../src/capture/core/kernel-state.ts";
import { planTables } from "../../src/capture/core/transaction.ts";
import { NO_NAMES } from "../support/capture/owner-names.ts";
import { parseSaveState } from "../support/capture/save-state.ts";
import * as cases from "./capture-case.ts";
import type { ConformanceFamily } from "./family.ts";

type Difference = string | undefined;
type Family = "v4" | "v6";

export const iptables: ConformanceFamily = { name: "iptables", load: (dir) => cases.loadCases(dir, caseDifference) };

function caseDifference(entry: cases.CaptureCase): Difference {
  switch (entry.kind) {
    case "builder":
      return builderDifference(entry);
    case "clean":
      return cleanDifference(entry);
    case "capture":
    case "cleanup":
    case "document":
      return captureDifference(entry);
    default:
      return `unknown kind ${entry.kind}`;
  }
}

/** Every form a case may pin; those it does not have are not compared, but it must have one. */
function captureDifference(entry: cases.CaptureCase): Difference {
  const given = cases.settingsOf(entry);
  const { expected } = entry;
  const checks: Difference[] = [cases.effectiveConfigDifference(entry, given)];
  let pinned = 0;
  const pin = (key: string, check: (value: unknown) => Difference) => {
    if (!(key in expected)) return;
    pinned += 1;
    checks.push(check(expected[key]));
  };
  const record = dryRun(given.settings, given.options).record;
  pin("executed", (value) => cases.lineDifference("executed", record, value));
  pin("stateCheck", (value) => cases.lineDifference("stateCheck", record.slice(0, 2), value));
  pin("finalState", (value) => cases.lineDifference("finalState", record.slice(given.settings.ipv6 ? -2 : -1), value));
  pin("v4", (value) => familyDifference("v4", given, value));
  pin("v6", (value) => familyDifference("v6", given, value));
  pin("stdoutBanner", (value) =>
    cases.lineDifference("stdoutBanner", captureBanner(given.settings, given.options, entry.env).stdout, value),
  );
  pin("iptablesSave", (value) => listingDifference(given, value));
  pin("iptablesNatS", (value) => listingDifference(given, value));
  if (pinned === 0) return "the case expects nothing";
  return checks.find((difference) => difference !== undefined);
}

function familyDifference(family: Family, given: cases.CaseSettings, expected: unknown): Difference {
  if (Array.isArray(expected)) return cases.lineDifference(family, singleCommands(family, given), expected);
  if (expected === null) return given.settings.ipv6 ? `${family} rules exist, expected none` : undefined;
  const { restoreCommand, restoreInput, tables } = expected as Readonly<Record<string, unknown>>;
  const program = family === "v4" ? "iptables-restore" : "ip6tables-restore";
  const input = restoreInputs(given.settings).find((candidate) => candidate.program === program);
  const lines = input?.text.split("\n").filter((line) => line !== "") ?? [];
  return (
    (restoreCommand === undefined
      ? undefined
      : cases.lineDifference("restoreCommand", [input?.program ?? "none", "--noflush"], restoreCommand)) ??
    (restoreInput === undefined ? undefined : cases.lineDifference(`${family} restoreInput`, lines, restoreInput)) ??
    tablesDifference(family, lines, tables)
  );
}

function singleCommands(family: Family, given: cases.CaseSettings): readonly string[] {
  const program = family === "v4" ? "iptables " : "ip6tables ";
  return commandLines(given.settings).filter((line) => line.startsWith(program));
}

function tablesDifference(family: Family, lines: readonly string[], expected: unknown): Difference {
  if (expected === undefined) return undefined;
  const actual: Record<string, string[]> = {};
  let table = "";
  for (const line of lines) {
    if (line.startsWith("* ")) table = line.slice(2);
    else if (line !== "COMMIT") actual[table] = [...(actual[table] ?? []), line];
  }
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  return found === wanted ? undefined : `${family} tables: got ${found}, expected ${wanted}`;
}

/** A listing of the kernel must mean the same as the model: same chains, same rules, same order. */
function listingDifference({ settings }: cases.CaseSettings, expected: unknown): Difference {
  const lines = expected as readonly string[];
  const listing = lines.map((line) => line.replace(/^-[PN] (\S+).*/, ":$1 -")).join("\n");
  const state = parseKernelState(lines[0]?.startsWith("*") ? listing : `*nat\n${listing}\n`);
  const shape = GENERATION_SHAPES[settings.generation];
  const plans = planTables({ rules: buildRules(settings), family: "v4", state, shape, names: NO_NAMES });
  const off = plans.filter((plan) => plan.status !== "equal").map((plan) => `${plan.table} is ${plan.status}`);
  return plans.length > 0 && off.length === 0
    ? undefined
    : `listing and model differ: ${off.join(", ") || "no tables"}`;
}

function cleanDifference(entry: cases.CaptureCase): Difference {
  const { settings } = cases.settingsOf(entry);
  const commands = cleanCommands({
    ...settings,
    interceptionMode: entry.env.INBOUND_INTERCEPTION_MODE ?? "",
    tproxyMark: entry.env.INBOUND_TPROXY_MARK ?? "",
  });
  const { executed, v4, v6, finalState } = entry.expected;
  const of = (program: string) => commands.filter((line) => line.startsWith(`${program} `));
  return (
    cases.lineDifference("executed", commands, executed) ??
    (v4 === undefined ? undefined : cases.lineDifference("v4", of("iptables"), v4)) ??
    (v6 === undefined ? undefined : cases.lineDifference("v6", of("ip6tables"), v6)) ??
    (finalState === undefined ? undefined : cases.lineDifference("finalState", commands.slice(-2), finalState))
  );
}

function builderDifference(entry: cases.CaptureCase): Difference {
  const options = { createsJumpTargets: true };
  const rules = (family: Family): readonly IptablesRule[] =>
    (entry.operations ?? [])
      .filter((operation) => operation.family === family)
      .map(({ table = "", chain = "", position, params }) => ({
        table,
        chain,
        ...(position === undefined ? {} : { position }),
        params,
      }));
  const forms: Readonly<Record<string, (family: Family) => readonly string[]>> = {
    commands: (family) => text.singleCommands(rules(family), options),
    restoreInput: (family) =>
      text
        .restoreText(text.restoreTables(rules(family), options))
        .split("\n")
        .filter((line) => line !== ""),
    check: (family) => rules(family).map(({ table, chain, params }) => `-t ${table} -C ${chain} ${params.join(" ")}`),
    cleanup: (family) => text.cleanupCommands(rules(family)),
  };
  for (const family of ["v4", "v6"] as const) {
    for (const [form, expected] of Object.entries(
      (entry.expected[family] ?? {}) as Readonly<Record<string, unknown>>,
    )) {
      const render = forms[form];
      if (render === undefined) return `unknown form ${form}`;
      const difference = cases.lineDifference(`${family} ${form}`, render(family), expected);
      if (difference !== undefined) return difference;
    }
  }
  return stateDifference(rules("v4"), entry.expected.stateFromRestore);
}

function stateDifference(rules: readonly IptablesRule[], expected: unknown): Difference {
  if (expected === undefined) return undefined;
  const state = parseSaveState(text.restoreText(text.restoreTables(rules, { createsJumpTargets: true })));
  const sorted = (value: unknown): unknown =>
    typeof value !== "object" || value === null || Array.isArray(value)
      ? value
      : Object.fromEntries(
          Object.entries(value)
            .sort()
            .map(([key, inner]) => [key, sorted(inner)]),
        );
  const [found, wanted] = [JSON.stringify(sorted(state)), JSON.stringify(sorted(expected))];
  return found === wanted ? undefined : `state: got ${found}, expected ${wanted}`;
}
