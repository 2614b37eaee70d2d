/** Product generations whose behaviour can be chosen, newest first. 1.6 and 1.2 read their configuration as 1.7 does. */
export const GENERATIONS = ["master", "1.20", "1.8", "1.7", "1.6", "1.2"] as const;

export type Generation = (typeof GENERATIONS)[number];

/** How the text of a variable is read. `json-int` is an integer in JSON syntax, which has its own warning text. */
export type EnvironmentType = "string" | "bool" | "int" | "float" | "duration" | "json-int" | "json";

export type EnvironmentDefault = string | number | boolean;

/** One row of the environment table: everything code and documentation know about a variable. */
export interface EnvironmentVariable {
  /** A trailing `*` stands for any suffix. */
  readonly name: string;
  readonly type: EnvironmentType;
  /** Durations in Go syntax. "" for strings that have none. */
  readonly default: EnvironmentDefault;
  /** Defaults that differ in a generation. */
  readonly defaults?: Partial<Readonly<Record<Generation, EnvironmentDefault>>>;
  readonly generations: readonly Generation[];
  /** Whose options it ends in. */
  readonly component: string;
  readonly effect: string;
  /** Set and unset differ although the default has a value. */
  readonly triState?: true;
  /** Read at first use, so that its warning follows the logging flags. */
  readonly lazy?: true;
  /** What replaces it in the generations that do not read it; set there, it is warned about. */
  readonly elsewhere?: string;
  /** An addition of this product, not known to the reference. */
  readonly own?: true;
}
