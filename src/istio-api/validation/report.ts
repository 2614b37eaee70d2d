import type { Path } from "../../protobuf/json/read-message.ts";

/** One thing that is wrong with a rule object. */
export interface Problem {
  readonly path: Path;
  readonly message: string;
  /** A warning does not keep the object out. */
  readonly severity: "error" | "warning";
}

/** Collects what is wrong, each with its path. A message that is undefined means that the rule holds. */
export interface Report {
  error(message: string | undefined, ...at: Path): void;
  warn(message: string | undefined, ...at: Path): void;
  /** A report on a member; its problems go to the same list. */
  at(...path: Path): Report;
}

export function createReport(problems: Problem[], base: Path): Report {
  const add = (severity: Problem["severity"], message: string | undefined, at: Path) => {
    if (message !== undefined) problems.push({ path: [...base, ...at], message, severity });
  };
  return {
    error: (message, ...at) => add("error", message, at),
    warn: (message, ...at) => add("warning", message, at),
    at: (...path) => createReport(problems, [...base, ...path]),
  };
}

/** Calls `check` for each element with the report on it. */
export function each<Element>(
  report: Report,
  field: string,
  elements: readonly Element[],
  check: (report: Report, element: Element, index: number) => void,
): void {
  elements.forEach((element, index) => {
    check(report.at(field, index), element, index);
  });
}
