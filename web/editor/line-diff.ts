/** One line of a comparison; numbers are those of its own side, from 1. */
export type DiffLine =
  | { readonly kind: "same"; readonly text: string; readonly before: number; readonly after: number }
  | { readonly kind: "removed"; readonly text: string; readonly before: number }
  | { readonly kind: "added"; readonly text: string; readonly after: number };

/** Compares two texts line by line by their longest common subsequence. Objects of the mesh have hundreds of lines at most. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const [left, right] = [toLines(before), toLines(after)];
  const lengths = commonLengths(left, right);
  const length = (i: number, j: number) => lengths[i * (right.length + 1) + j] ?? 0;
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const [removed, added] = [left[i], right[j]];
    if (removed !== undefined && removed === added) {
      lines.push({ kind: "same", text: removed, before: ++i, after: ++j });
    } else if (removed !== undefined && (added === undefined || length(i + 1, j) >= length(i, j + 1))) {
      lines.push({ kind: "removed", text: removed, before: ++i });
    } else if (added !== undefined) {
      lines.push({ kind: "added", text: added, after: ++j });
    }
  }
  return lines;
}

/** Changed lines with `context` lines around them; what lies between is one gap with its number of lines. */
export function hunks(lines: readonly DiffLine[], context: number): readonly (DiffLine | { readonly gap: number })[] {
  const changed = lines.flatMap((line, index) => (line.kind === "same" ? [] : [index]));
  const isNear = (index: number) => changed.some((at) => Math.abs(at - index) <= context);
  const result: (DiffLine | { gap: number })[] = [];
  lines.forEach((line, index) => {
    const last = result.at(-1);
    if (isNear(index)) result.push(line);
    else if (last !== undefined && "gap" in last) last.gap += 1;
    else result.push({ gap: 1 });
  });
  return result;
}

function toLines(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** Length of the longest common subsequence of each pair of tails, row by row. */
function commonLengths(left: readonly string[], right: readonly string[]): Uint16Array {
  const width = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        left[i] === right[j]
          ? 1 + (lengths[(i + 1) * width + j + 1] ?? 0)
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
  return lengths;
}
