const MAX_DISTANCE = 2;

/** Names close to what was typed: at most two edits away, or starting with it. */
export function suggest(typed: string, names: readonly string[]): string[] {
  const lower = typed.toLowerCase();
  return names.filter((name) => {
    if (name.length < typed.length - MAX_DISTANCE) return false;
    const other = name.toLowerCase();
    return isNear(lower, other) || other.startsWith(lower);
  });
}

/**
 * Levenshtein's distance, as far as it matters: the cells beside the diagonal, and rows up to the first without a small number. A pod's
 * environment has hundreds of names of services, each compared with hundreds before Envoy is spawned.
 */
function isNear(left: string, right: string): boolean {
  if (Math.abs(left.length - right.length) > MAX_DISTANCE) return false;
  const far = MAX_DISTANCE + 1;
  /** Of one row: the distances of the first `i` letters to the first `i - MAX_DISTANCE` up to `i + MAX_DISTANCE`. */
  let previous = [far, far, 0, 1, 2];
  for (let i = 1; i <= left.length; i += 1) {
    const current = [far, far, far, far, far];
    let least = far;
    for (let offset = 0; offset < current.length; offset += 1) {
      const j = i + offset - MAX_DISTANCE;
      if (j < 0 || j > right.length) continue;
      const substituted =
        j === 0 ? far : (previous[offset] ?? far) + (left.charCodeAt(i - 1) === right.charCodeAt(j - 1) ? 0 : 1);
      const value = Math.min(substituted, (previous[offset + 1] ?? far) + 1, (current[offset - 1] ?? far) + 1);
      current[offset] = value;
      least = Math.min(least, value);
    }
    if (least > MAX_DISTANCE) return false;
    previous = current;
  }
  return (previous[right.length - left.length + MAX_DISTANCE] ?? far) <= MAX_DISTANCE;
}
