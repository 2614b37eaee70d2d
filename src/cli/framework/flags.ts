import type { FlagValues } from "../../settings/flag-values.ts";

/** A flag as the command declares it; the parser, help, completion and the docs read nothing else. */
export type FlagSpec = FlagBase &
  (
    | { readonly type: "bool"; readonly default: boolean }
    | { readonly type: "int" | "int32" | "uint16"; readonly default: number }
    | { readonly type: "string"; readonly default: string }
    /** Nanoseconds, in Go's duration syntax on the command line. */
    | { readonly type: "duration"; readonly default: bigint }
    /** Repeatable; the first use replaces the default; commas are not split. */
    | { readonly type: "stringArray"; readonly default: readonly string[] }
  );

interface FlagBase {
  readonly name: string;
  readonly short?: string;
  readonly usage: string;
  readonly hidden?: boolean;
  /** What completion offers as its value. */
  readonly values?: readonly string[] | ((input: CompletionInput) => readonly string[]);
  /** Set for flags of older generations: accepted, and one warning with this text when used. */
  readonly deprecated?: string;
  /** Environment variables that stand in when the flag is not given, first match wins; values that do not parse are ignored. */
  readonly env?: readonly string[];
}

/** The command line up to the word under the cursor. */
export interface CompletionInput {
  /** Positional words before it. */
  readonly args: readonly string[];
  readonly flags: FlagValues;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type FlagValue = boolean | number | string | bigint | readonly string[];

export type { FlagValues };
