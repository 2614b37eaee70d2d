import type { FunctionTable } from "../function-table.ts";
import { COLLECTION_FUNCTIONS } from "./collections.ts";
import { ENCODING_FUNCTIONS } from "./encoding.ts";
import { LOGIC_FUNCTIONS } from "./logic-and-numbers.ts";
import { TEXT_FUNCTIONS } from "./text.ts";

/**
 * The part of Sprig that templates of this world use, plus `toJSON`, `toYaml` and `fromYaml`. Left out on purpose: what reads the
 * environment, clock, network or randomness, and user-written regular expressions, which could run for ever.
 */
export const SPRIG_FUNCTIONS: FunctionTable = {
  ...TEXT_FUNCTIONS,
  ...COLLECTION_FUNCTIONS,
  ...LOGIC_FUNCTIONS,
  ...ENCODING_FUNCTIONS,
};
