const MAX_DISTANCE = 2;

/** Names close to what was typed: at most two edits away, or starting with it. */
export function suggest(typed: string, names: readonly string[]): string[] {
  const lower = typed.toLowerCase();
  return names.filter(
    (name) => distance(lower, name.toLowerCase()) <= MAX_DISTANCE || name.toLowerCase().startsWith(lower),
  );
}

/** Levenshtein's, one row at a time. */
function distance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const substituted = (previous[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      current.push(Math.min(substituted, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
