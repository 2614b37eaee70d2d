export type TableName = "filter" | "mangle" | "nat" | "raw";
export type Family = "v4" | "v6";
export type Protocol = "tcp" | "udp";

/**
 * One condition. `only` limits a protocol match to one printed form: nftables implies the protocol by the port match in some rules and
 * names it in others, and the texts are compared byte for byte.
 */
export type Match =
  | { readonly kind: "protocol"; readonly protocol: Protocol; readonly only?: "iptables" | "nft" }
  | { readonly kind: "in" | "out"; readonly name: string; readonly not?: boolean }
  | { readonly kind: "source" | "destination"; readonly cidr: string; readonly not?: boolean }
  | { readonly kind: "dport" | "sport"; readonly ports: readonly string[]; readonly not?: boolean }
  | { readonly kind: "uid" | "gid"; readonly id: string; readonly not?: boolean }
  | { readonly kind: "ctstate"; readonly states: readonly string[]; readonly not?: boolean }
  | { readonly kind: "mark" | "connmark"; readonly value: string; readonly not?: boolean }
  /** A condition of a foreign rule that the model has no word for. */
  | { readonly kind: "other"; readonly text: string };

export type Target =
  | { readonly kind: "jump"; readonly chain: string }
  | { readonly kind: "return" | "accept" | "drop" | "save-mark" | "restore-mark" }
  | { readonly kind: "redirect"; readonly port: string }
  | { readonly kind: "tproxy"; readonly port: string; readonly mark: string }
  | { readonly kind: "set-mark"; readonly value: string }
  | { readonly kind: "zone"; readonly zone: string }
  | { readonly kind: "dnat" | "snat"; readonly to: string }
  | { readonly kind: "log"; readonly prefix: string }
  | { readonly kind: "other"; readonly text: string };

/** Chains carry their iptables names; nftables prints them in lower case with hyphens. */
export interface Rule {
  readonly table: TableName;
  readonly chain: string;
  /** `any` belongs to both IP versions. */
  readonly family: Family | "any";
  /** 1-based position of an insert; absent for an append. */
  readonly position?: number;
  /** In the order iptables prints them. */
  readonly matches: readonly Match[];
  readonly target: Target;
}

export const BUILT_IN_CHAINS: ReadonlySet<string> = new Set([
  "INPUT",
  "OUTPUT",
  "FORWARD",
  "PREROUTING",
  "POSTROUTING",
]);

export const CHAIN_PREFIX = "ISTIO_";

/** Rules of one family in the order a packet meets them, inserts resolved: `table/chain` to rules. */
export function arrangeRules(rules: readonly Rule[], family: Family): ReadonlyMap<string, readonly Rule[]> {
  const chains = new Map<string, Rule[]>();
  for (const rule of rules) {
    if (rule.family !== "any" && rule.family !== family) continue;
    const key = `${rule.table}/${rule.chain}`;
    const chain = chains.get(key) ?? [];
    chains.set(key, chain);
    chain.splice(rule.position === undefined ? chain.length : rule.position - 1, 0, rule);
  }
  return chains;
}
