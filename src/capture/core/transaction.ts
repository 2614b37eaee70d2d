import { discoverOwn, type OwnState } from "./discover-rules.ts";
import type { GenerationShape } from "./generations.ts";
import { toIptables } from "./iptables-args.ts";
import { restoreTables, restoreText, type ruleLine } from "./iptables-text.ts";
import { type KernelState, ownChains, type SavedTable } from "./kernel-state.ts";
import { arrangeRules, BUILT_IN_CHAINS, CHAIN_PREFIX, type Family, type Rule, type TableName } from "./rule.ts";
import { type OwnerNames, ruleKey } from "./rule-key.ts";

/** Where one table stands compared with the plan. */
export type TableStatus = "equal" | "absent" | "drifted";

export interface TablePlan {
  readonly table: TableName;
  readonly status: TableStatus;
  /** Restore lines that lead to the plan, and those that lead back to the state before. */
  readonly forward: readonly string[];
  readonly back: readonly string[];
}

export interface PlanInput {
  readonly rules: readonly Rule[];
  readonly family: Family;
  readonly state: KernelState;
  readonly shape: GenerationShape;
  readonly names: OwnerNames;
  /** Rules that may have been written before and count as ours; the planned ones when absent. */
  readonly known?: readonly Rule[];
  /** Do not even look at what is there: write all rules as if nothing was. */
  readonly blind?: boolean;
}

const TABLES: readonly TableName[] = ["filter", "mangle", "nat", "raw"];

/** Compares and decides, table by table; a table is one atomic step for the kernel, several tables are not. */
export function planTables(input: PlanInput): readonly TablePlan[] {
  const { rules, family, state, shape, names } = input;
  const args = toIptables(rules, family);
  const added = restoreTables(args, shape);
  const arranged = arrangeRules(rules, family);
  const planned = plannedKeys(input.known === undefined ? arranged : arrangeRules(input.known, family), names);
  return TABLES.flatMap((table): readonly TablePlan[] => {
    const lines = added.get(table) ?? [];
    const own: OwnState =
      input.blind === true ? { chains: [], rules: [] } : discoverOwn(state, table, { planned, names });
    const isPresent = own.chains.length > 0 || own.rules.length > 0;
    if (!isPresent && lines.length === 0) return [];
    const undo = undoLines(
      args.filter((rule) => rule.table === table),
      lines,
    );
    if (!isPresent) return [{ table, status: "absent", forward: lines, back: undo }];
    const saved = state.get(table) ?? new Map();
    const status = isEqual(saved, table, arranged, lines, names) ? "equal" : "drifted";
    return [
      { table, status, forward: [...removalLines(own), ...lines], back: [...undo, ...recreationLines(own, saved)] },
    ];
  });
}

/** The text for `iptables-restore --noflush`. */
export function transactionText(plans: readonly TablePlan[], direction: "forward" | "back"): string {
  return restoreText(new Map(plans.map((plan) => [plan.table, plan[direction]])));
}

function plannedKeys(arranged: ReadonlyMap<string, readonly Rule[]>, names: OwnerNames): ReadonlySet<string> {
  return new Set([...arranged].flatMap(([chain, rules]) => rules.map((rule) => `${chain} ${ruleKey(rule, names)}`)));
}

/** Our chains are equal rule by rule; in built-in chains ours are there in order, with anything of others between them. */
function isEqual(
  saved: SavedTable,
  table: TableName,
  arranged: ReadonlyMap<string, readonly Rule[]>,
  lines: readonly string[],
  names: OwnerNames,
): boolean {
  const created = lines.filter((line) => line.startsWith("-N ")).map((line) => line.slice(3));
  const existing = ownChains(saved);
  if (created.length !== existing.length || !created.every((chain) => saved.has(chain))) return false;
  const chains = new Set([...created, ...BUILT_IN_CHAINS]);
  return [...chains].every((chain) => {
    const wanted = (arranged.get(`${table}/${chain}`) ?? []).map((rule) => ruleKey(rule, names));
    const found = (saved.get(chain) ?? []).map((rule) => ruleKey(rule, names));
    if (chain.startsWith(CHAIN_PREFIX)) return wanted.join("\n") === found.join("\n");
    return isSubsequence(wanted, found);
  });
}

function isSubsequence(wanted: readonly string[], found: readonly string[]): boolean {
  let at = 0;
  for (const key of found) if (key === wanted[at]) at += 1;
  return at === wanted.length;
}

/** Chains can only be deleted once nothing refers to them, hence all flushes before all deletes. */
function removalLines(own: OwnState): readonly string[] {
  return [
    ...own.rules.map(({ rule }) => rule.line.replace(/^-A /, "-D ")),
    ...own.chains.map((chain) => `-F ${chain}`),
    ...own.chains.map((chain) => `-X ${chain}`),
  ];
}

function undoLines(args: readonly Parameters<typeof ruleLine>[0][], lines: readonly string[]): readonly string[] {
  const created = lines.filter((line) => line.startsWith("-N ")).map((line) => line.slice(3));
  return [
    ...args
      .filter((rule) => !rule.chain.startsWith(CHAIN_PREFIX))
      .map((rule) => `-D ${rule.chain} ${rule.params.join(" ")}`),
    ...created.map((chain) => `-F ${chain}`),
    ...created.map((chain) => `-X ${chain}`),
  ];
}

/** Rules go back to their old positions in ascending order, so each position is right when it is used. */
function recreationLines(own: OwnState, saved: SavedTable): readonly string[] {
  return [
    ...own.chains.map((chain) => `-N ${chain}`),
    ...own.chains.flatMap((chain) => (saved.get(chain) ?? []).map((rule) => rule.line)),
    ...own.rules.map(({ chain, position, rule }) => rule.line.replace(/^-A \S+/, `-I ${chain} ${position}`)),
  ];
}
