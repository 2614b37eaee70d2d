import {
  createDerivedStore,
  createSharedValues,
  type DerivedStore,
  type SharedValues,
  type StoreCounts,
} from "../mesh-model/derive/derived-store.ts";
import type { OutboundScope } from "../mesh-model/push-snapshot.ts";
import { createResourceSet } from "../xds/resource-set.ts";
import type { EncodedResource, ResourceSet } from "../xds/resource-source.ts";
import type { PatchSet } from "./envoy-filter/patches.ts";
import type { ResourceProblem } from "./resource-problems.ts";
import { ANY_SCOPE, SCOPE } from "./shared/worlds.ts";

/** Resources and what showed when they were made. */
export interface MadeResources {
  readonly resources: readonly EncodedResource[];
  readonly problems: readonly ResourceProblem[];
}

/** The same as a set that clients can be sent. */
export interface MadeSet {
  readonly set: ResourceSet;
  readonly problems: readonly ResourceProblem[];
}

export function toSet({ resources, problems }: MadeResources): MadeSet {
  return { set: createResourceSet(resources), problems };
}

/** A set of the same resources: nothing has to be sent. */
export function isEqualSet(before: MadeSet, after: MadeSet): boolean {
  return before.set.version === after.set.version && before.problems.length + after.problems.length === 0;
}

type Store<Value> = DerivedStore<OutboundScope, Value>;

/** Of a name of which something is known, or nothing. */
export type MadeEndpoints = MadeResources & { readonly isKnown: boolean };

/** What scopes have in common: most clusters and endpoints are the same for most proxies. */
interface SharedResources {
  readonly clusters: SharedValues<MadeResources>;
  readonly endpoints: SharedValues<MadeEndpoints>;
}

/** What was derived from a scope. It outlives snapshots: what gets the same answers from the next one stays. */
export interface ScopeStores {
  /** Sets by type. */
  readonly sets: Store<MadeSet>;
  /** By the key of the service. */
  readonly clusters: Store<MadeResources>;
  /** By name. */
  readonly endpoints: Store<MadeEndpoints>;
  readonly routes: Store<MadeResources>;
  readonly patches: Store<PatchSet | undefined>;
  /** Sets by the list of names that was asked for, which its clients hold: an unused list is collected. */
  readonly lists: WeakMap<readonly string[], Store<MadeSet>>;
  readonly counts: StoreCounts;
  /** Of the snapshot that was asked about last. */
  latest?: { readonly scope: OutboundScope; readonly resources: ScopeResources };
}

/** What proxies of one scope share. */
export interface ScopeResources {
  clusters(): ResourceSet;
  listeners(): ResourceSet;
  nameTable(): ResourceSet;
  named(type: "EDS" | "RDS", names: readonly string[]): ResourceSet;
  /** Settings of extensions that patches and plugins bring along; names that none brings are left out. */
  extensions(names: readonly string[]): ResourceSet;
}

export interface AllScopeStores {
  of(scope: OutboundScope): ScopeStores;
  clear(): void;
}

/** A scope that no proxy asked about during so many snapshots is evicted. */
const MAX_IDLE_SNAPSHOTS = 4;
/** Clients may ask for any name: of subsets that do not exist, and of routes. */
const MAX_ENDPOINTS = 60_000;
const MAX_ROUTES = 4000;
const NOTHING: ReadonlySet<string> = new Set();

export function createAllScopeStores(counts: StoreCounts): AllScopeStores {
  const known = new Map<string, { readonly stores: ScopeStores; seen: number }>();
  const shared: SharedResources = { clusters: createSharedValues(), endpoints: createSharedValues() };
  let version = "";
  let generation = 0;
  const evict = (key: string, { clusters, endpoints }: ScopeStores) => {
    known.delete(key);
    clusters.retain(NOTHING);
    endpoints.retain(NOTHING);
  };
  const evictIdle = () => {
    for (const [key, { stores, seen }] of known) if (generation - seen > MAX_IDLE_SNAPSHOTS) evict(key, stores);
  };
  return {
    of(scope) {
      if (scope.snapshot.version !== version) {
        version = scope.snapshot.version;
        generation += 1;
        evictIdle();
        // A scope that is not asked about holds no old snapshot.
        for (const { stores } of known.values()) delete stores.latest;
      }
      const entry = known.get(scope.key) ?? { stores: createScopeStores(counts, shared), seen: generation };
      entry.seen = generation;
      known.set(scope.key, entry);
      return entry.stores;
    },
    clear() {
      for (const [key, { stores }] of known) evict(key, stores);
    },
  };
}

/** The sizes of the two large ones are counted. */
function createScopeStores(counts: StoreCounts, shared: SharedResources): ScopeStores {
  const uncounted = uncountedSize(counts);
  return {
    sets: createDerivedStore({ kind: SCOPE, counts: uncounted, isEqual: isEqualSet }),
    clusters: createDerivedStore({ kind: ANY_SCOPE, counts, maxEntries: MAX_ENDPOINTS, shared: shared.clusters }),
    endpoints: createDerivedStore({
      kind: ANY_SCOPE,
      counts,
      maxEntries: MAX_ENDPOINTS,
      shared: shared.endpoints,
      isKept: ({ isKnown }) => isKnown,
    }),
    routes: createDerivedStore({ kind: SCOPE, counts: uncounted, maxEntries: MAX_ROUTES }),
    patches: createDerivedStore({ kind: SCOPE }),
    lists: new WeakMap(),
    counts: uncounted,
  };
}

/** Hits and misses go to the given counts, the rest is not counted. */
function uncountedSize(counts: StoreCounts): StoreCounts {
  return {
    get hits() {
      return counts.hits;
    },
    set hits(hits) {
      counts.hits = hits;
    },
    get misses() {
      return counts.misses;
    },
    set misses(misses) {
      counts.misses = misses;
    },
    evictions: 0,
    size: 0,
  };
}
