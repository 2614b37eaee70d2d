import { buildRules } from "../../src/capture/core/build-rules.ts";
import { toNft } from "../../src/capture/core/nft-args.ts";
import { nftRulesetDump, nftTransaction } from "../../src/capture/core/nft-transaction.ts";
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
