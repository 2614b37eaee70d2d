import type { Logger } from "../../base/logger.ts";
import { KINDS, type Kind } from "../../istio-api/kinds.ts";
import type { Freshness } from "../../kubernetes/index.ts";
import { fields, type KubernetesObject, listOf, textOf } from "../../mesh-model/kubernetes-object.ts";
import type { KubernetesSource, ObjectWatch, WatchedResource } from "../kubernetes-source.ts";
import { decodeRule, type KubernetesRule, type KubernetesStore } from "./create-kubernetes-store.ts";

/** A kind of rules that the API server serves, in the version that is read. */
interface ServedKind {
  readonly kind: Kind;
  readonly group: string;
  readonly plural: string;
  readonly version: string;
}

interface WatchRulesOptions {
  readonly source: KubernetesSource;
  readonly store: Pick<KubernetesStore, "set">;
  readonly onChange: () => void;
  /** All when absent. */
  readonly kinds?: readonly Kind[];
  readonly log: Logger;
}

interface RunningWatch {
  readonly served: ServedKind;
  readonly watch: ObjectWatch;
  /** Of its objects in the store. */
  readonly keys: ReadonlySet<string>;
  /** What still comes of it is of the past. */
  readonly ended: { isEnded: boolean };
}

export interface RuleWatch extends ObjectWatch {
  /** How objects of the kind are read now; undefined while the API server does not know it. */
  resource(kind: Kind): WatchedResource | undefined;
}

/**
 * Feeds the store with the rule objects of a cluster. Kinds are read while their definition is there: one that is missing is not an error, and is
 * read from the moment it appears.
 */
export function watchRules(options: WatchRulesOptions): RuleWatch {
  const { source, store, onChange, kinds = Object.keys(KINDS) as Kind[], log } = options;
  const running = new Map<Kind, RunningWatch>();
  const stopping = new Set<Promise<void>>();
  const end = (kind: Kind) => {
    const known = running.get(kind);
    if (known === undefined) return;
    running.delete(kind);
    known.ended.isEnded = true;
    const stopped = known.watch.stop().finally(() => stopping.delete(stopped));
    stopping.add(stopped);
    for (const key of known.keys) store.set(key, undefined);
    onChange();
  };
  const begin = (served: ServedKind) => {
    const { kind, group, version, plural } = served;
    const keys = new Set<string>();
    const ended = { isEnded: false };
    const resource = { group, version, plural };
    const watch = source.watch<KubernetesRule>({
      resource,
      // Objects of a list do not say what they are.
      reduce: (object) => decodeRule({ ...object, apiVersion: `${group}/${version}`, kind }, resource),
      onChange: (key, after) => {
        const own = `${kind}/${key}`;
        if (ended.isEnded) return;
        if (after === undefined) keys.delete(own);
        else keys.add(own);
        store.set(own, after);
        onChange();
      },
    });
    running.set(kind, { served, watch, keys, ended });
    log.info("rules of a kind are read", { kind, version });
  };
  const definitions = source.watch<ServedKind>({
    resource: { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" },
    reduce: (object) => readDefinition(object, kinds),
    onChange: (_name, after, before) => {
      if (before !== undefined && before.kind !== after?.kind) end(before.kind);
      if (after === undefined) return;
      const { served } = running.get(after.kind) ?? {};
      if (served?.version === after.version && served.plural === after.plural) return;
      end(after.kind);
      begin(after);
    },
  });
  return {
    resource: (kind) => {
      const { served } = running.get(kind) ?? {};
      return served && { group: served.group, version: served.version, plural: served.plural };
    },
    // Of what is still missing; one that merely takes long before one that is refused.
    freshness: () => {
      const all = [definitions, ...[...running.values()].map(({ watch }) => watch)].map((watch) => watch.freshness?.());
      const missing = all.filter((each) => each !== undefined && !each.isSynced);
      return missing.find((each) => each?.problem === undefined) ?? missing[0] ?? all[0] ?? NOTHING_KNOWN;
    },
    synced: definitions.synced.then(async () => {
      await Promise.all([...running.values()].map(({ watch }) => watch.synced));
    }),
    stop: async () => {
      await definitions.stop();
      await Promise.all([...[...running.values()].map(({ watch }) => watch.stop()), ...stopping]);
    },
  };
}

const NOTHING_KNOWN: Freshness = {
  provedAt: undefined,
  state: "listing",
  resourceVersion: undefined,
  problem: undefined,
  problemCode: undefined,
  isSynced: false,
  objects: 0,
  repaired: 0,
};

/** What a definition says of a kind of rules; undefined for other kinds, and for versions that are not known here. */
function readDefinition({ spec }: KubernetesObject, kinds: readonly Kind[]): ServedKind | undefined {
  const { group, names, versions } = fields(spec);
  const { kind, plural } = fields(names);
  const found = kinds.find((name) => name === kind && KINDS[name].group === group);
  if (found === undefined) return undefined;
  const served = new Set(
    listOf(versions).flatMap(({ name, served: isServed }) => (isServed === true ? textOf(name) : [])),
  );
  const version = KINDS[found].versions.find((known) => served.has(known));
  return version === undefined
    ? undefined
    : { kind: found, group: KINDS[found].group, plural: textOf(plural), version };
}
