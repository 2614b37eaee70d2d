import { buildRules } from "../../src/capture/core/build-rules.ts";
import { type NftRule, toNft } from "../../src/capture/core/nft-args.ts";
import { nftTransaction } from "../../src/capture/core/nft-transaction.ts";
import { type CaptureCase, effectiveConfigDifference, lineDifference, loadCases, settingsOf } from "./capture-case.ts";
import type { ConformanceFamily } from "./family.ts";

export const nftables: ConformanceFamily = {
  name: "nftables",
  load: (dir) =>
    loadCases(dir, (entry) => (entry.kind === "builder" ? builderDifference(entry) : captureDifference(entry))),
};

function captureDifference(entry: CaptureCase): string | undefined {
  const given = settingsOf(entry);
  const lines = nftTransaction(toNft(buildRules(given.settings)));
  const tables = (entry.expected.tables ?? {}) as Readonly<Record<string, readonly string[]>>;
  return (
    effectiveConfigDifference(entry, given) ??
    lineDifference("transaction", lines, entry.expected.transaction) ??
    Object.entries(tables)
      .map(([table, expected]) => lineDifference(table, ofTable(lines, table), expected))
      .find((difference) => difference !== undefined)
  );
}

function ofTable(lines: readonly string[], table: string): readonly string[] {
  return lines.filter((line) => line.split(" ")[3] === table);
}

function builderDifference(entry: CaptureCase): string | undefined {
  const { table = "", chain = "", operations = [] } = entry;
  const enabled = entry.config.ENABLE_INBOUND_IPV6 === true;
  const rules = operations
    .filter(({ family }) => family !== "v6-if-enabled" || enabled)
    .map(({ position, params }) => ({
      table,
      chain,
      ...(position === undefined ? {} : { index: position }),
      words: params,
    }));
  return lineDifference("rulesetDump", nftRulesetDump(table, chain, rules), entry.expected.rulesetDump);
}

/** The resulting chain in final order, as if every rule had been added at its index. */
function nftRulesetDump(table: string, chain: string, rules: readonly NftRule[]): readonly string[] {
  const placed: NftRule[] = [];
  for (const rule of rules) placed.splice(rule.index ?? placed.length, 0, rule);
  return [
    `add table inet ${table}`,
    `add chain inet ${table} ${chain}`,
    ...placed.map((rule) => `add rule inet ${table} ${rule.chain} ${rule.words.join(" ")}`),
  ];
}
