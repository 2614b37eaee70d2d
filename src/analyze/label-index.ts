import { selects } from "../mesh-model/selector.ts";
import type { AnalyzedObject } from "./analyzed-mesh.ts";

type Labels = Readonly<Record<string, string>>;

/** Finds the objects that a selector chooses among those that have its rarest label. */
export function createLabelIndex(
  objects: readonly AnalyzedObject[],
  labelsOf: (object: AnalyzedObject) => Labels = ({ labels }) => labels,
): (selector: Labels, namespace?: string) => readonly AnalyzedObject[] {
  const entries = objects.map((object) => ({ object, labels: labelsOf(object) }));
  const byPair = new Map<string, (typeof entries)[number][]>();
  for (const entry of entries) {
    add(byPair, inNamespace(entry.object.namespace), entry);
    for (const pair of pairsOf(entry.labels)) add(byPair, pair, entry);
  }
  return (selector, namespace) => {
    const keys = [...pairsOf(selector), ...(namespace === undefined ? [] : [inNamespace(namespace)])];
    const [smallest = entries] = keys.map((key) => byPair.get(key) ?? []).toSorted((a, b) => a.length - b.length);
    return smallest
      .filter(({ object, labels }) => (namespace ?? object.namespace) === object.namespace && selects(selector, labels))
      .map(({ object }) => object);
  };
}

interface Selecting {
  readonly namespace: string;
  readonly selector: Labels;
}

/** The other way round: finds those of a namespace whose selectors choose what has these labels. */
export function createSelectorIndex<Of>(
  items: readonly Of[],
  selectingOf: (item: Of) => Selecting,
): (labels: Labels, namespace: string) => readonly Of[] {
  const entries = items.map((item, at) => ({ item, at, ...selectingOf(item) }));
  const byPair = new Map<string, (typeof entries)[number][]>();
  for (const entry of entries) {
    const [first = ""] = pairsOf(entry.selector);
    add(byPair, `${inNamespace(entry.namespace)}\0${first}`, entry);
  }
  return (labels, namespace) =>
    ["", ...pairsOf(labels)]
      .flatMap((pair) => byPair.get(`${inNamespace(namespace)}\0${pair}`) ?? [])
      .filter(({ selector }) => selects(selector, labels))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item);
}

function pairsOf(labels: Labels): readonly string[] {
  return Object.entries(labels).map((pair) => pair.join("="));
}

/** No label begins so. */
function inNamespace(namespace: string): string {
  return `\0${namespace}`;
}

function add<Of>(map: Map<string, Of[]>, key: string, value: Of): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}
