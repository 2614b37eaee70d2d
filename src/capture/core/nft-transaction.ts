import { type NftRule, nftTable } from "./nft-args.ts";

interface TableLayout {
  readonly table: string;
  /** Chains in the order they are declared; hooks only for those the kernel calls. */
  readonly chains: readonly (readonly [chain: string, hook: string])[];
}

const hook = (type: string, name: string, priority: number) => ` { type ${type} hook ${name} priority ${priority} ; }`;

const LAYOUT: readonly TableLayout[] = [
  {
    table: nftTable("nat"),
    chains: [
      ["prerouting", hook("nat", "prerouting", -100)],
      ["output", hook("nat", "output", -100)],
      ["postrouting", hook("nat", "postrouting", 100)],
      ["istio-inbound", ""],
      ["istio-redirect", ""],
      ["istio-in-redirect", ""],
      ["istio-output", ""],
      ["istio-output-dns", ""],
    ],
  },
  {
    table: nftTable("mangle"),
    chains: [
      ["prerouting", hook("filter", "prerouting", -150)],
      ["output", hook("route", "output", -150)],
      ["istio-divert", ""],
      ["istio-tproxy", ""],
      ["istio-inbound", ""],
      ["istio-drop", ""],
    ],
  },
  {
    table: nftTable("raw"),
    chains: [
      ["prerouting", hook("filter", "prerouting", -300)],
      ["output", hook("filter", "output", -300)],
      ["istio-inbound", ""],
      ["istio-output-dns", ""],
    ],
  },
];

export const NFT_TABLES: readonly string[] = LAYOUT.map(({ table }) => table);

/** Everything in one transaction: the kernel takes all of it or nothing. Tables without rules are left out. */
export function nftTransaction(rules: readonly NftRule[]): readonly string[] {
  return LAYOUT.flatMap(({ table, chains }) => {
    const own = rules.filter((rule) => rule.table === table);
    if (own.length === 0) return [];
    const used = new Set(own.map((rule) => rule.chain));
    return [
      `add table inet ${table}`,
      `flush table inet ${table}`,
      ...chains.filter(([chain]) => used.has(chain)).map(([chain, text]) => `add chain inet ${table} ${chain}${text}`),
      ...ruleLines(own),
    ];
  });
}

/** Adding first makes the delete succeed where there is no such table. */
export function nftRemoval(tables: readonly string[]): readonly string[] {
  return tables.flatMap((table) => [`add table inet ${table}`, `delete table inet ${table}`]);
}

/** nft refuses an index beyond the last rule, so such an insert is written as what it means: an add. */
function ruleLines(rules: readonly NftRule[]): readonly string[] {
  const counts = new Map<string, number>();
  return rules.map((rule) => {
    const count = counts.get(rule.chain) ?? 0;
    counts.set(rule.chain, count + 1);
    const verb = rule.index === undefined || rule.index >= count ? "add" : "insert";
    const index = verb === "insert" ? ` index ${rule.index}` : "";
    return `${verb} rule inet ${rule.table} ${rule.chain}${index} ${rule.words.join(" ")}`;
  });
}
