import type { StringMatch } from "../specs.ts";
import { re2Problem } from "./re2-problem.ts";
import { re2SizeProblem } from "./re2-size.ts";
import type { Report } from "./report.ts";

const MAX_LENGTH = 1024;

/** `where` is the member as the message names it. */
export function regexReason(where: string, regex: string): string | undefined {
  if (regex.length > MAX_LENGTH) return `"${where}": regex is too large, max length allowed is ${MAX_LENGTH}`;
  const problem = re2Problem(regex) ?? re2SizeProblem(regex);
  if (problem === undefined) return undefined;
  return `"${where}": ${problem}; Istio uses RE2 style regex-based match (https://github.com/google/re2/wiki/Syntax)`;
}

export function validateStringMatch(report: Report, where: string, match: StringMatch | undefined): void {
  if (match?.prefix === "") report.error(`"${where}": prefix string match should not be empty`, "prefix");
  if (match?.regex === undefined) return;
  const isEmpty = match.regex === "";
  report.error(
    isEmpty ? `"${where}": regex string match should not be empty` : regexReason(where, match.regex),
    "regex",
  );
}
