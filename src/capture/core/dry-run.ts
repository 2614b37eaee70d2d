import { buildRules } from "./build-rules.ts";
import { GENERATION_SHAPES } from "./generations.ts";
import { toIptables } from "./iptables-args.ts";
import { cleanupCommands, restoreTables, restoreText, singleCommands } from "./iptables-text.ts";
import { toNft } from "./nft-args.ts";
import { NFT_TABLES, nftRemoval, nftTransaction } from "./nft-transaction.ts";
import type { Family } from "./rule.ts";
import type { CaptureOptions, CaptureSettings } from "./settings.ts";

export interface DryRun {
  /** Everything that would be run: command lines, and for a restore the lines it reads. */
  readonly record: readonly string[];
  /** What DRY_RUN_FILE_PATH gets: the record, in 1.20 only what the restores read. */
  readonly file: readonly string[];
  /** The restore texts, or the nft transaction, for the log. */
  readonly inputs: readonly { readonly program: string; readonly text: string }[];
}

const PROGRAM: Readonly<Record<Family, string>> = { v4: "iptables", v6: "ip6tables" };
/** Stands for the temporary file of 1.7, whose name differs with every run. */
export const RULES_FILE = "<rules file>";

/** Pure: what a run with these settings would execute on a machine without any rules. */
export function dryRun(settings: CaptureSettings, options: CaptureOptions): DryRun {
  if (settings.nativeNftables) return nftDryRun(settings, options);
  const families: readonly Family[] = settings.ipv6 ? ["v4", "v6"] : ["v4"];
  if (options.cleanupOnly) return cleanupDryRun(settings, families);
  const inputs = restoreInputs(settings);
  const lines = inputs.flatMap(({ text }) => text.split("\n").filter((line) => line !== ""));
  const saves = families.map((family) => `${PROGRAM[family]}-save`);
  switch (GENERATION_SHAPES[settings.generation].shows) {
    case "restores":
      return recorded(["iptables-save", "ip6tables-save", ...lines, ...saves], inputs);
    case "commands": {
      const restores = inputs.map(({ program }) => `${program} --noflush`);
      const record = [...(options.restoreFormat ? restores : commandLines(settings)), ...saves];
      return { record, file: lines, inputs };
    }
    case "files":
      // The first generations printed a blank after a command without arguments.
      return recorded(
        [...(options.restoreFormat ? fileRestores() : commandLines(settings)), ...saves.map((save) => `${save} `)],
        inputs,
      );
  }
}

function recorded(record: readonly string[], inputs: DryRun["inputs"]): DryRun {
  return { record, file: record, inputs };
}

/** Restore texts by program, in the order they are applied. */
export function restoreInputs(
  settings: CaptureSettings,
): readonly { readonly program: string; readonly text: string }[] {
  const shape = GENERATION_SHAPES[settings.generation];
  const rules = buildRules(settings);
  const families: readonly Family[] = settings.ipv6 || shape.alwaysRestoresBoth ? ["v4", "v6"] : ["v4"];
  return families.map((family) => ({
    program: `${PROGRAM[family]}-restore`,
    text: family === "v6" && !settings.ipv6 ? "" : restoreText(restoreTables(toIptables(rules, family), shape)),
  }));
}

/** The form of `--restore-format=false`: one command per chain and rule. */
export function commandLines(settings: CaptureSettings): readonly string[] {
  const rules = buildRules(settings);
  const families: readonly Family[] = settings.ipv6 ? ["v4", "v6"] : ["v4"];
  return families.flatMap((family) =>
    singleCommands(toIptables(rules, family), GENERATION_SHAPES[settings.generation]).map(
      (command) => `${PROGRAM[family]} ${command}`,
    ),
  );
}

function fileRestores(): readonly string[] {
  return ["iptables-restore", "ip6tables-restore"].map((program) => `${program} --noflush ${RULES_FILE}`);
}

function cleanupDryRun(settings: CaptureSettings, families: readonly Family[]): DryRun {
  const rules = buildRules(settings);
  const deletes = families.flatMap((family) =>
    cleanupCommands(toIptables(rules, family)).map((command) => `${PROGRAM[family]} ${command}`),
  );
  const saves = families.map((family) => `${PROGRAM[family]}-save`);
  return recorded(["iptables-save", "ip6tables-save", ...deletes, ...saves], []);
}

function nftDryRun(settings: CaptureSettings, options: CaptureOptions): DryRun {
  const record = options.cleanupOnly ? nftRemoval(NFT_TABLES) : nftTransaction(toNft(buildRules(settings)));
  return recorded(record, [{ program: "nft", text: record.map((line) => `${line}\n`).join("") }]);
}
