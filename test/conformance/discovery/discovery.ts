import type { ConformanceCase, ConformanceFamily } from "../family.ts";
import { compareCase } from "./compare-case.ts";
import { describeDifference } from "./difference.ts";
import { type Answers, generateAnswers } from "./generate-answers.ts";
import { type GoldenCase, readGoldenCases } from "./golden-cases.ts";
import { unsupportedParts } from "./unsupported.ts";

/** More would not fit on a screen; the number of all is told. */
const SHOWN = 25;

/** Answers of the control plane to one node, compared by what they mean. */
export const discovery: ConformanceFamily = {
  name: "discovery",
  load: async (dir) => readGoldenCases(dir).map((golden) => toCase(golden, generateAnswers)),
};

/** Shared with families that make the answers from other inputs. */
export function toCase(golden: GoldenCase, generate: (golden: GoldenCase) => Answers): ConformanceCase {
  const missing = unsupportedParts(golden);
  return {
    name: golden.name,
    ...(missing.length > 0 && { unsupported: `not supported yet: ${missing.join(", ")}` }),
    run: async () => report(golden, generate(golden)),
  };
}

function report(golden: GoldenCase, answers: Answers): string | undefined {
  const found = compareCase(golden, answers).map(describeDifference);
  if (found.length === 0) return undefined;
  const rest = found.length > SHOWN ? [`... and ${found.length - SHOWN} more`] : [];
  return [`${found.length} differences`, ...found.slice(0, SHOWN), ...rest].join("\n  ");
}
