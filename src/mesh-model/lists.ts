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

/**
 * The value before where the new one says the same, and its members where they do: what was made from them stays good. Members are compared
 * by identity; lists and maps by their elements.
 */
export function keepEqual<Value extends object>(before: Value | undefined, after: Value): Value {
  if (before === undefined || before === after) return after;
  const names = Object.keys(after) as (keyof Value)[];
  const kept: Partial<Value> = {};
  let isSame = names.length === Object.keys(before).length;
  for (const name of names) {
    const isKept = saysTheSame(before[name], after[name]);
    kept[name] = isKept ? before[name] : after[name];
    isSame &&= isKept;
  }
  return isSame ? before : Object.freeze(kept as Value);
}

/** The elements before where the new ones say the same, and the list itself where all do. */
export function keepEqualElements<Element extends object>(
  before: readonly Element[] | undefined,
  after: readonly Element[],
): readonly Element[] {
  const kept = after.map((element, index) => keepEqual(before?.[index], element));
  return before !== undefined && sameElements(before, kept) ? before : Object.freeze(kept);
}

function saysTheSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) return sameElements(a, b);
  if (!(a instanceof Map && b instanceof Map) || a.size !== b.size) return false;
  return [...a].every(([key, value]) => b.has(key) && Object.is(b.get(key), value));
}
