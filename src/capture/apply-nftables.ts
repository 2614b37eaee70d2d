import type { ApplyOptions, ApplyOutcome } from "./apply-options.ts";
import { CaptureError } from "./capture-error.ts";
import { buildRules } from "./core/build-rules.ts";
import { nftChain, nftTable, toNft } from "./core/nft-args.ts";
import { NFT_TABLES, nftRemoval, nftTransaction } from "./core/nft-transaction.ts";
import { type NftTableState, nftRuleKey } from "./core/parse-nft-rule.ts";
import type { Rule } from "./core/rule.ts";
import type { OwnerNames } from "./core/rule-key.ts";
import { findOtherRules, refuseOthers, replaceOthers } from "./installed-rules.ts";
import type { NetworkContext } from "./network-context.ts";
import { listingText, listTables, runNft } from "./nft-program.ts";

const MINIMUM = [1, 0, 1];

/** One transaction for everything: the kernel takes all of it or nothing. */
export async function applyNftables(given: ApplyOptions): Promise<ApplyOutcome> {
  const { settings, options, context, names, log } = given;
  const listing = listTables(context);
  // A missing or old program is the better message; the listing's own failure waits for its turn.
  listing.catch(() => undefined);
  await requireVersion(context, options.cniMode);
  const [tables, others] = await Promise.all([listing, findOtherRules(given, "native")]);
  const rules = buildRules(settings);
  const marks = new Set([...tables.values()].flatMap((table) => [...table.marks]));
  const isReady = !options.forceApply && isInPlace(tables, rules, names);
  refuseOthers(others, given, isReady);
  if (isReady) return replaceOthers(others, { changed: false, marks, undo: async () => undefined }, given);
  const before = await listingText([...tables.keys()], context);
  const lines = [...staleTables(tables, rules), ...nftTransaction(toNft(rules)), ...staleChains(tables, rules)];
  if (lines.length > 0) await runNft(lines.join("\n"), context);
  log.info(`nftables rules programmed:\n${lines.join("\n")}`);
  const undo = () => runNft(`${nftRemoval(NFT_TABLES).join("\n")}\n${before}`, context, "the new rules stay");
  return replaceOthers(others, { changed: true, marks, undo }, given);
}

async function requireVersion(context: NetworkContext, cniMode: boolean): Promise<void> {
  const result = await context.run({ program: "nft", args: ["--version"] });
  if (result.code === undefined) {
    const where = cniMode ? "on the host filesystem" : "in the sidecar container image";
    const text = `nativeNftables is enabled, but the nft binary is missing ${where}: ${result.failure}`;
    throw new CaptureError("no-backend", text);
  }
  const version = /v(\d+(?:\.\d+)*)/.exec(result.stdout)?.[1] ?? "";
  const parts = version.split(".").map(Number);
  const first = MINIMUM.findIndex((part, index) => (parts[index] ?? 0) !== part);
  if (version !== "" && (first === -1 || (parts[first] ?? 0) > (MINIMUM[first] ?? 0))) return;
  throw new CaptureError("no-backend", `nft version must be v1.0.1 or later (got ${result.stdout.trim()})`);
}

function isInPlace(tables: ReadonlyMap<string, NftTableState>, rules: readonly Rule[], names: OwnerNames): boolean {
  const planned = new Map<string, string[]>();
  for (const rule of rules) {
    const chainKey = `${nftTable(rule.table)} ${nftChain(rule.chain)}`;
    const keys = planned.get(chainKey) ?? [];
    planned.set(chainKey, keys);
    keys.splice(rule.position === undefined ? keys.length : rule.position - 1, 0, nftRuleKey(rule, names));
  }
  const found = [...tables].flatMap(([table, state]) => state.chains.map((chain) => `${table} ${chain}`));
  if (found.length !== planned.size) return false;
  return [...planned].every(([chainKey, keys]) => {
    const [table = "", chain = ""] = chainKey.split(" ");
    return tables.get(table)?.keys.get(chain)?.join("\n") === keys.join("\n");
  });
}

/** Tables of an earlier configuration that the present one does not write. */
function staleTables(tables: ReadonlyMap<string, NftTableState>, rules: readonly Rule[]): readonly string[] {
  const used = new Set(rules.map((rule) => nftTable(rule.table)));
  return nftRemoval([...tables.keys()].filter((table) => !used.has(table)));
}

/** After the flush nothing refers to them any more. */
function staleChains(tables: ReadonlyMap<string, NftTableState>, rules: readonly Rule[]): readonly string[] {
  const used = new Set(rules.map((rule) => `${nftTable(rule.table)} ${nftChain(rule.chain)}`));
  const usedTables = new Set(rules.map((rule) => nftTable(rule.table)));
  return [...tables]
    .filter(([table]) => usedTables.has(table))
    .flatMap(([table, { chains }]) =>
      chains.filter((chain) => !used.has(`${table} ${chain}`)).map((chain) => `delete chain inet ${table} ${chain}`),
    );
}
