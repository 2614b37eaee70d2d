import { type AnyConfigObject, compareAge, type ObjectRef } from "../../istio-api/config-object.ts";

/** What becomes of an object; undefined: it is gone. */
export type ObjectPatch = readonly [ObjectRef, AnyConfigObject | undefined];

/**
 * Objects of one kind at one moment. The next moment is made from it, at the cost of a copy: lists are not sorted again, and those of
 * namespaces without a change stay the same arrays.
 */
export class KindTable {
  readonly #objects: ReadonlyMap<string, AnyConfigObject>;
  #sorted: readonly AnyConfigObject[] | undefined;
  readonly #byNamespace: Map<string, readonly AnyConfigObject[]>;

  private constructor(
    objects: ReadonlyMap<string, AnyConfigObject>,
    sorted: readonly AnyConfigObject[] | undefined,
    byNamespace: Map<string, readonly AnyConfigObject[]>,
  ) {
    this.#objects = objects;
    this.#sorted = sorted;
    this.#byNamespace = byNamespace;
  }

  static readonly EMPTY: KindTable = new KindTable(new Map(), Object.freeze([]), new Map());

  get size(): number {
    return this.#objects.size;
  }

  get(namespace: string, name: string): AnyConfigObject | undefined {
    return this.#objects.get(`${namespace}/${name}`);
  }

  values(): Iterable<AnyConfigObject> {
    return this.#objects.values();
  }

  /** In the order in which objects win. */
  list(namespace?: string): readonly AnyConfigObject[] {
    this.#sorted ??= Object.freeze([...this.#objects.values()].sort(compareAge));
    if (namespace === undefined) return this.#sorted;
    let found = this.#byNamespace.get(namespace);
    if (found === undefined) {
      found = Object.freeze(this.#sorted.filter((object) => object.namespace === namespace));
      this.#byNamespace.set(namespace, found);
    }
    return found;
  }

  with(patches: readonly ObjectPatch[]): KindTable {
    const objects = new Map(this.#objects);
    const byNamespace = new Map(this.#byNamespace);
    const replaced = new Set<AnyConfigObject>();
    const added = new Set<AnyConfigObject>();
    for (const [{ namespace, name }, object] of patches) {
      const key = `${namespace}/${name}`;
      const before = objects.get(key);
      // Of an object that is patched twice the last state counts.
      if (before !== undefined && !added.delete(before)) replaced.add(before);
      byNamespace.delete(namespace);
      if (object === undefined) objects.delete(key);
      else {
        objects.set(key, object);
        added.add(object);
      }
    }
    const sorted = this.#sorted && merge(this.#sorted, replaced, [...added].sort(compareAge));
    return new KindTable(objects, sorted, byNamespace);
  }
}

/** Both lists are sorted, and so is the result. */
function merge(
  before: readonly AnyConfigObject[],
  without: ReadonlySet<AnyConfigObject>,
  added: readonly AnyConfigObject[],
): readonly AnyConfigObject[] {
  const merged: AnyConfigObject[] = [];
  let at = 0;
  for (const object of before) {
    if (without.has(object)) continue;
    for (let next = added[at]; next !== undefined && compareAge(next, object) < 0; next = added[at]) {
      merged.push(next);
      at += 1;
    }
    merged.push(object);
  }
  merged.push(...added.slice(at));
  return Object.freeze(merged);
}
