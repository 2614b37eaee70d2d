import type { IptablesRule } from "./iptables-args.ts";
import { BUILT_IN_CHAINS, CHAIN_PREFIX } from "./rule.ts";

/** Standard verdicts are not chains either. */
const NOT_CREATED: ReadonlySet<string> = new Set([...BUILT_IN_CHAINS, "ACCEPT", "RETURN", "DROP"]);

/** Lines for one table of a restore, without `* table` and `COMMIT`. */
export type TableLines = ReadonlyMap<string, readonly string[]>;

export interface IptablesTextOptions {
  readonly createsJumpTargets: boolean;
  /** Chains that are created first, whether or not a rule uses them. */
  readonly leadingChains?: readonly ChainName[];
}

export interface ChainName {
  readonly table: string;
  readonly chain: string;
}

/** New chains in order of first use, then the rules, grouped by table. */
export function restoreTables(rules: readonly IptablesRule[], options: IptablesTextOptions): TableLines {
  const tables = new Map<string, string[]>();
  const lines = (table: string) => {
    const known = tables.get(table) ?? [];
    tables.set(table, known);
    return known;
  };
  for (const { table, chain } of newChains(rules, options)) lines(table).push(`-N ${chain}`);
  for (const rule of rules) lines(rule.table).push(ruleLine(rule));
  return new Map([...tables].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The text `iptables-restore` reads; empty for no tables. */
export function restoreText(tables: TableLines): string {
  return [...tables]
    .filter(([, lines]) => lines.length > 0)
    .map(([table, lines]) => `* ${table}\n${lines.join("\n")}\nCOMMIT\n`)
    .join("");
}

/** One command line per chain and rule, without the program. */
export function singleCommands(rules: readonly IptablesRule[], options: IptablesTextOptions): readonly string[] {
  return [
    ...newChains(rules, options).map(({ table, chain }) => `-t ${table} -N ${chain}`),
    ...rules.map((rule) => `-t ${rule.table} ${ruleLine(rule)}`),
  ];
}

/** Undoes the rules in reverse; what lives in our own chains goes with them, unless it refers to another of them. */
export function cleanupCommands(rules: readonly IptablesRule[]): readonly string[] {
  const reversed = [...rules].reverse();
  const deletes = reversed
    .filter((rule) => !rule.chain.startsWith(CHAIN_PREFIX) || jumpTarget(rule)?.startsWith(CHAIN_PREFIX))
    .map((rule) => `-t ${rule.table} -D ${rule.chain} ${rule.params.join(" ")}`);
  const chains = uniqueChains(reversed);
  return [...deletes, ...chains.flatMap(({ table, chain }) => [`-t ${table} -F ${chain}`, `-t ${table} -X ${chain}`])];
}

export function ruleLine(rule: IptablesRule): string {
  const command = rule.position === undefined ? `-A ${rule.chain}` : `-I ${rule.chain} ${rule.position}`;
  return [command, ...rule.params].join(" ");
}

function newChains(rules: readonly IptablesRule[], options: IptablesTextOptions): readonly ChainName[] {
  const targets = rules.flatMap((rule) => {
    const chain = options.createsJumpTargets ? jumpTarget(rule) : undefined;
    return chain === undefined ? [] : [{ table: rule.table, chain }];
  });
  const leading = rules.length > 0 ? (options.leadingChains ?? []) : [];
  return uniqueChains([...leading, ...rules, ...targets]);
}

function uniqueChains(names: readonly ChainName[]): readonly ChainName[] {
  const seen = new Set<string>();
  return names.filter(({ table, chain }) => {
    const key = `${table} ${chain}`;
    if (NOT_CREATED.has(chain) || seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** Only a jump without options names a chain: `-j X` as the last two words. */
function jumpTarget(rule: IptablesRule): string | undefined {
  return rule.params.at(-2) === "-j" ? rule.params.at(-1) : undefined;
}
