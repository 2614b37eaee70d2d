import { isDeepStrictEqual } from "node:util";
import { Secret } from "../../base/secret.ts";

/** Base64 by key, as a Secret has it. */
export type CredentialData = Readonly<Record<string, string>>;

/** The same value for as long as it says the same. */
export type StoredCredential = Secret<CredentialData>;

/** Where credentials come from. Keys are `namespace/name`. */
export interface CredentialStore {
  get(key: string): StoredCredential | undefined;
  keys(): readonly string[];
  /** Called with the key of each one that is new, other than before or gone. Returns what ends the subscription. */
  subscribe(listener: (key: string) => void): () => void;
}

export interface CredentialTable extends CredentialStore {
  set(key: string, data: CredentialData | undefined): void;
  /** These are all that there are. */
  replace(all: ReadonlyMap<string, CredentialData>): void;
}

export function createCredentialTable(): CredentialTable {
  const credentials = new Map<string, StoredCredential>();
  const listeners = new Set<(key: string) => void>();
  const set = (key: string, data: CredentialData | undefined) => {
    const known = credentials.get(key);
    if (isDeepStrictEqual(known?.reveal(), data)) return;
    if (data === undefined) credentials.delete(key);
    else credentials.set(key, new Secret(data));
    for (const listener of [...listeners]) listener(key);
  };
  return {
    get: (key) => credentials.get(key),
    keys: () => [...credentials.keys()],
    subscribe: (listener) => {
      const entry = (key: string) => listener(key);
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    set,
    replace: (all) => {
      for (const key of [...credentials.keys()]) if (!all.has(key)) set(key, undefined);
      for (const [key, data] of all) set(key, data);
    },
  };
}
