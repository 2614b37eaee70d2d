import { CaptureError } from "./capture-error.ts";
import { NFT_TABLES } from "./core/nft-transaction.ts";
import { type NftTableState, parseNftTable } from "./core/parse-nft-rule.ts";
import type { NetworkContext } from "./network-context.ts";
import { failureText, type ProgramResult } from "./run-program.ts";

const LIST = { program: "nft", args: ["list", "tables", "inet"] };

/** Our tables, with what is in them. Rejects where there is no nft that could look. */
export async function listTables(context: NetworkContext): Promise<ReadonlyMap<string, NftTableState>> {
  const result = await context.run(LIST);
  if (result.code !== 0) throw new CaptureError("no-backend", failureText(LIST, result));
  const names = ownTables(result.stdout);
  const listings = await Promise.all(
    names.map((table) => context.run({ program: "nft", args: ["-j", "list", "table", "inet", table] })),
  );
  return new Map(names.map((table, index) => [table, stateOf(listings[index])]));
}

/** An nft without JSON support cannot be compared; an empty state makes the transaction run, which is harmless. */
function stateOf(listing: ProgramResult | undefined): NftTableState {
  return parseNftTable(listing?.stdout ?? "") ?? { chains: [], keys: new Map(), marks: new Set() };
}

/** Whether there are any: one program less than a list of them. False where there is no nft. */
export async function hasNativeTables({ run }: Pick<NetworkContext, "run">): Promise<boolean> {
  const { code, stdout } = await run(LIST);
  return code === 0 && ownTables(stdout).length > 0;
}

/** One transaction: all of it or nothing. */
export async function runNft(text: string, context: NetworkContext, otherwise = "nothing was changed"): Promise<void> {
  const result = await context.run({ program: "nft", args: ["-f", "-"], input: `${text}\n` });
  if (result.code === 0) return;
  const reason = result.code === undefined ? result.failure : result.stderr.trim();
  throw new CaptureError("restore-failed", `nftables run failed: ${reason} (${otherwise})`);
}

/** What makes the tables again. */
export async function listingText(tables: readonly string[], context: NetworkContext): Promise<string> {
  const listings = await Promise.all(
    tables.map((table) => context.run({ program: "nft", args: ["list", "table", "inet", table] })),
  );
  return listings.map(({ stdout }) => stdout).join("\n");
}

function ownTables(listing: string): readonly string[] {
  const lines = listing.split("\n");
  return NFT_TABLES.filter((table) => lines.includes(`table inet ${table}`));
}
