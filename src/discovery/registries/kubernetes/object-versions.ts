import type { ReducedKinds } from "./reduce-object.ts";

/** Which version of an object is the one that is held. Kept beside the objects: most versions say the same as the one before. */
export interface ObjectVersions {
  /** Undefined: the object is gone. */
  set(kind: keyof ReducedKinds, key: string, version: string | undefined): void;
  get(kind: string, key: string): string | undefined;
}

export function createObjectVersions(): ObjectVersions {
  const known = new Map<string, Map<string, string | number>>();
  return {
    set: (kind, key, version) => {
      const versions = known.get(kind) ?? new Map<string, string | number>();
      known.set(kind, versions);
      if (version === undefined) versions.delete(key);
      else versions.set(key, packed(version));
    },
    get: (kind, key) => known.get(kind)?.get(key)?.toString(),
  };
}

/** API servers count, and a number takes less room than its digits; a version is opaque all the same. */
function packed(version: string): string | number {
  const number = Number(version);
  return Number.isSafeInteger(number) && String(number) === version ? number : version;
}
