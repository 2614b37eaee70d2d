/** The same values in the same order: what was made from one list holds for the other. */
export function sameElements(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a === b || (a.length === b.length && a.every((element, index) => element === b[index]));
}

/** Groups keep the order of their elements, and come in the order of their first ones. */
export function groupBy<Element>(
  elements: readonly Element[],
  keyOf: (element: Element) => string,
): Map<string, Element[]> {
  const groups = new Map<string, Element[]>();
  for (const element of elements) {
    const key = keyOf(element);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [element]);
    else group.push(element);
  }
  return groups;
}

/** As `map`; the list itself when every element stays the value it is. */
export function mapChanged<Element>(
  list: readonly Element[],
  change: (element: Element) => Element,
): readonly Element[] {
  for (const [index, element] of list.entries()) {
    const first = change(element);
    if (first === element) continue;
    const rest = list.slice(index + 1).map(change);
    return [...list.slice(0, index), first, ...rest];
  }
  return list;
}
