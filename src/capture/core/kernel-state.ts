import { parseIptablesRule, type SavedRule } from "./parse-iptables-rule.ts";
import { CHAIN_PREFIX, type TableName } from "./rule.ts";

/** One table as the kernel holds it: every chain, with its rules in order. */
export type SavedTable = ReadonlyMap<string, readonly SavedRule[]>;

/** One IP version of one backend. */
export type KernelState = ReadonlyMap<TableName, SavedTable>;

const TABLES: readonly string[] = ["filter", "mangle", "nat", "raw"];

/** Reads the output of `iptables-save`; tables that capture never touches are left out. */
export function parseKernelState(text: string): KernelState {
  const state = new Map<TableName, Map<string, SavedRule[]>>();
  let table: Map<string, SavedRule[]> | undefined;
  for (const line of text.split("\n")) {
    if (line.startsWith("*")) {
      const name = line.slice(1).trim();
      table = TABLES.includes(name) ? new Map() : undefined;
      if (table !== undefined) state.set(name as TableName, table);
    } else if (line.startsWith(":")) {
      table?.set(line.slice(1).split(" ")[0] ?? "", []);
    } else if (line.startsWith("-A ")) {
      const rule = parseIptablesRule(line);
      table?.get(rule.chain)?.push(rule);
    }
  }
  return state;
}

export function hasRules(state: KernelState): boolean {
  return [...state.values()].some((table) => [...table.values()].some((rules) => rules.length > 0));
}

/** True where chains of ours exist, of whichever run. */
export function hasOwnChains(state: KernelState): boolean {
  return [...state.values()].some((table) => ownChains(table).length > 0);
}

export function ownChains(table: SavedTable): readonly string[] {
  return [...table.keys()].filter((chain) => chain.startsWith(CHAIN_PREFIX));
}
