/** The same values in the same order: what was made from one list holds for the other. */
export function sameElements(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a === b || (a.length === b.length && a.every((element, index) => element === b[index]));
}
