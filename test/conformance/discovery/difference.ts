import { canonical, isObject, type Json } from "./json.ts";

/** One place where our answer is not the golden one. An absent side is undefined. */
export interface Difference {
  readonly path: string;
  readonly golden: unknown;
  readonly ours: unknown;
}

/** Every place where two projections differ, at the deepest level that tells what is wrong. */
export function differences(golden: unknown, ours: unknown, path: string): readonly Difference[] {
  if (golden === ours) return [];
  if (isObject(golden) && isObject(ours)) {
    const names = [...new Set([...Object.keys(golden), ...Object.keys(ours)])].sort();
    return names.flatMap((name) => differences(golden[name], ours[name], `${path}.${name}`));
  }
  if (Array.isArray(golden) && Array.isArray(ours) && golden.length === ours.length) {
    return golden.flatMap((item, index) => differences(item, ours[index], `${path}[${index}]`));
  }
  return canonical(golden) === canonical(ours) ? [] : [{ path, golden, ours }];
}

/** The same for resources that have names: a missing, an additional and a repeated one are told by name alone. */
export function resourceDifferences(options: {
  readonly kind: string;
  readonly golden: readonly Json[];
  readonly ours: readonly Json[];
  name(resource: Json): string;
  project(resource: Json): unknown;
}): readonly Difference[] {
  const { kind, golden, ours, name, project } = options;
  const wanted = new Map(golden.map((resource) => [name(resource), resource]));
  const found = new Map(ours.map((resource) => [name(resource), resource]));
  const repeated = ours.length > found.size ? [...new Set(ours.map(name).filter(isRepeated))] : [];
  return [
    ...repeated.map((key) => ({ path: `${kind}[${key}]`, golden: "once", ours: "more than once" })),
    ...[...new Set([...wanted.keys(), ...found.keys()])].sort().flatMap((key) => {
      const [goldenOne, ourOne] = [wanted.get(key), found.get(key)];
      const path = `${kind}[${key}]`;
      if (goldenOne === undefined) return [{ path, golden: undefined, ours: "present" }];
      if (ourOne === undefined) return [{ path, golden: "present", ours: undefined }];
      return differences(project(goldenOne), project(ourOne), path);
    }),
  ];
}

function isRepeated(key: string, index: number, keys: readonly string[]): boolean {
  return keys.indexOf(key) !== index;
}

/** One line; long values are cut. */
export function describeDifference({ path, golden, ours }: Difference): string {
  const shown = (value: unknown) => {
    if (value === undefined) return "nothing";
    const full = canonical(value);
    return full.length > 300 ? `${full.slice(0, 300)}...` : full;
  };
  return `${path}: expected ${shown(golden)}, got ${shown(ours)}`;
}
