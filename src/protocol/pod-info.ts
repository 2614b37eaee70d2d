import { unquoteGo } from "../base/go-quote.ts";

/** A line of a pod info file whose value is not a quoted Go string. `line` counts from 1. */
export interface PodInfoProblem {
  readonly line: number;
  readonly message: string;
}

/** The downward API's labels and annotations files, one `key="value"` per line: the good lines, and what is wrong with the others. */
export function parsePodInfo(text: string): {
  readonly entries: Map<string, string>;
  readonly problems: readonly PodInfoProblem[];
} {
  const entries = new Map<string, string>();
  const problems: PodInfoProblem[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const separator = line.indexOf("=");
    if (separator === -1) continue;
    const quoted = line.slice(separator + 1);
    const value = unquoteGo(quoted);
    if (value === undefined) {
      problems.push({ line: index + 1, message: `failed to unquote ${quoted}: invalid syntax` });
    } else {
      entries.set(line.slice(0, separator), value);
    }
  }
  return { entries, problems };
}
