import { expect, test } from "vitest";
import { NO_NAMES } from "../../test/support/capture/owner-names.ts";
import { silentLogger } from "../base/logger.ts";
import { buildRules } from "./core/build-rules.ts";
import { GENERATION_SHAPES } from "./core/generations.ts";
import { DEFAULT_SETTINGS } from "./core/settings.ts";
import { planTables } from "./core/transaction.ts";
import type { Backend } from "./detect-backend.ts";
import { applyChanges, type FamilyChange } from "./restore.ts";
import type { ProgramResult } from "./run-program.ts";

const EMPTY = { v4: new Map(), v6: new Map() };
const BACKEND: Backend = {
  kind: "nft",
  programs: { v4: "iptables-nft", v6: "ip6tables-nft" },
  states: EMPTY,
  wait: [],
};
const OK: ProgramResult = { code: 0, stdout: "", stderr: "" };

/** TPROXY: two tables, mangle before nat. */
function change(family: "v4" | "v6"): FamilyChange {
  const rules = buildRules({ ...DEFAULT_SETTINGS, interceptionMode: "TPROXY", inboundPortsInclude: "*", ipv6: true });
  const input = { rules, family, state: new Map(), shape: GENERATION_SHAPES.master, names: NO_NAMES } as const;
  return { input, plans: planTables(input) };
}

/** Answers by program, first match first; keeps the restore inputs. */
function options(answer: (program: string, count: number) => ProgramResult, wait: readonly string[] = []) {
  const restored: { readonly program: string; readonly input: string; readonly args: readonly string[] }[] = [];
  const run = async ({ program, args, input = "" }: { program: string; args: readonly string[]; input?: string }) => {
    if (!program.endsWith("-restore")) return answer(program, 0);
    restored.push({ program, args, input });
    return answer(program, restored.length);
  };
  const context = { procNet: "/nowhere", lockFile: undefined, run, [Symbol.asyncDispose]: async () => undefined };
  return { restored, given: { backend: { ...BACKEND, wait }, context, log: silentLogger } };
}

test("both versions are written in order, and undone in reverse", async () => {
  const { restored, given } = options(() => OK);
  const undo = await applyChanges([change("v4"), change("v6")], given);
  await undo();
  await undo();
  expect(restored.map(({ program }) => program)).toEqual([
    "iptables-nft-restore",
    "ip6tables-nft-restore",
    "ip6tables-nft-restore",
    "iptables-nft-restore",
  ]);
  expect(restored[3]?.input).toMatch(/^\* mangle\n-D PREROUTING -p tcp -j ISTIO_INBOUND\n/);
});

test("a failing line tells which tables were taken, and only those go back", async () => {
  const lines = planLines();
  const failed: ProgramResult = { code: 1, stdout: "", stderr: `iptables-nft-restore: line ${lines.nat + 3} failed` };
  const { restored, given } = options((program, count) => (program.endsWith("restore") && count === 1 ? failed : OK));
  await expect(applyChanges([change("v4")], given)).rejects.toThrow(/line \d+ failed \(rolled back: v4 mangle\)/);
  expect(restored[1]?.input).toMatch(/^\* mangle\n[^*]*COMMIT\n$/);
});

test("a failure in the first table changes nothing and rolls nothing back", async () => {
  const failed: ProgramResult = { code: 2, stdout: "", stderr: "iptables-restore: line 2 failed" };
  const { restored, given } = options((program) => (program.endsWith("restore") ? failed : OK));
  await expect(applyChanges([change("v4")], given)).rejects.toThrow(
    /xtables parameter problem.*\(nothing was changed\)/,
  );
  expect(restored).toHaveLength(1);
});

test("without a line number the listing tells what was taken", async () => {
  const killed: ProgramResult = { code: 255, stdout: "", stderr: "", failure: "ended by SIGKILL" };
  const mangle = listingOf("mangle");
  const { restored, given } = options((program, count) => {
    if (program.endsWith("-save")) return { ...OK, stdout: mangle };
    return count === 1 ? killed : OK;
  });
  await expect(applyChanges([change("v4")], given)).rejects.toThrow("ended by SIGKILL (rolled back: v4 mangle)");
  expect(restored[1]?.input).toMatch(/^\* mangle\n/);
});

test("when all of it is there after a refusal, another party did the same work", async () => {
  const failed: ProgramResult = { code: 1, stdout: "", stderr: "line 2 failed: Chain already exists." };
  const everything = listingOf("mangle") + listingOf("nat");
  const { given } = options((program) => (program.endsWith("-save") ? { ...OK, stdout: everything } : failed));
  await expect(applyChanges([change("v4")], given)).resolves.toBeTypeOf("function");
});

test("a rollback that is refused is a failure of its own", async () => {
  const failed: ProgramResult = { code: 4, stdout: "", stderr: "no" };
  const { given } = options((program, count) => (program.endsWith("restore") && count > 1 ? failed : OK));
  await expect(applyChanges([change("v4"), change("v6")], given)).rejects.toMatchObject({ code: "rollback-failed" });
});

test("a rollback that fails hides neither the first failure nor keeps the other version from going back", async () => {
  const answers = [
    OK,
    OK,
    { code: 1, stdout: "", stderr: "line 2 failed: first cause" },
    { code: 4, stdout: "", stderr: "second cause" },
  ];
  const { restored, given } = options((program, count) =>
    program.endsWith("restore") ? (answers[count - 1] ?? OK) : OK,
  );
  await expect(applyChanges([change("v4"), change("v6"), change("v4")], given)).rejects.toMatchObject({
    code: "rollback-failed",
    message: expect.stringMatching(/first cause; and rules could not be put back: .*ip6tables.*second cause$/),
  });
  expect(restored.map(({ program }) => program).slice(3)).toEqual(["ip6tables-nft-restore", "iptables-nft-restore"]);
});

test("a legacy program is run with a wait for the lock", async () => {
  const { restored, given } = options(() => OK, ["--wait=30"]);
  await applyChanges([change("v4")], given);
  expect(restored[0]?.args).toEqual(["--noflush", "--wait=30"]);
});

/** Line number of the nat table in the text. */
function planLines(): { readonly nat: number } {
  const [mangle] = change("v4").plans;
  return { nat: (mangle?.forward.length ?? 0) + 3 };
}

/** What the kernel lists after a table was taken: appends only, as inserts are resolved. */
function listingOf(table: string): string {
  const plan = change("v4").plans.find((each) => each.table === table);
  const chains = new Map<string, string[]>();
  for (const line of plan?.forward ?? []) {
    const [action, chain = "", ...rest] = line.split(" ");
    const rules = chains.get(chain) ?? [];
    chains.set(chain, rules);
    if (action === "-A") rules.push(rest.join(" "));
    if (action === "-I") rules.splice(Number(rest[0]) - 1, 0, rest.slice(1).join(" "));
  }
  const lines = [...chains].flatMap(([chain, rules]) => rules.map((rule) => `-A ${chain} ${rule}`));
  return [`*${table}`, ...[...chains.keys()].map((chain) => `:${chain} - [0:0]`), ...lines, "COMMIT", ""].join("\n");
}
