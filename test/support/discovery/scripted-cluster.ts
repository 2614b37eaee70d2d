import type { KubernetesSource, WatchedResource } from "../../../src/discovery/kubernetes-source.ts";
import { type KubernetesObject, keyOf } from "../../../src/mesh-model/kubernetes-object.ts";

/** A cluster whose objects the test sets. Watches see a change at once, in the turn in which it is made. */
export interface ScriptedCluster extends KubernetesSource {
  /** `plural` as watches name it. */
  set(plural: string, object: KubernetesObject): void;
  remove(plural: string, object: KubernetesObject): void;
  /** Watches that run now, by plural and version. */
  watched(): readonly string[];
  /** Watches that begin while this is true are not synced before it is false. */
  hold(isHeld: boolean): void;
}

type Notify = (key: string, object: KubernetesObject | undefined) => void;

export function createScriptedCluster(): ScriptedCluster {
  const objects = new Map<string, Map<string, KubernetesObject>>();
  const watches = new Set<{ readonly resource: WatchedResource; readonly notify: Notify }>();
  const released = new Set<() => void>();
  let isHeld = false;
  const of = (plural: string) => {
    const known = objects.get(plural) ?? new Map<string, KubernetesObject>();
    objects.set(plural, known);
    return known;
  };
  const change = (plural: string, key: string, object: KubernetesObject | undefined) => {
    if (object === undefined) of(plural).delete(key);
    else of(plural).set(key, object);
    for (const { resource, notify } of [...watches]) if (resource.plural === plural) notify(key, object);
  };
  return {
    watch: ({ resource, reduce, onChange, onVersion }) => {
      const known = new Map<string, ReturnType<typeof reduce>>();
      const notify: Notify = (key, object) => {
        const after = object === undefined ? undefined : reduce(object);
        const before = known.get(key);
        if (after === undefined) known.delete(key);
        else known.set(key, after);
        const { resourceVersion } = (object?.metadata ?? {}) as { readonly resourceVersion?: string };
        if (after !== undefined || before !== undefined) onVersion?.(key, after && resourceVersion);
        if (after !== undefined || before !== undefined) onChange(key, after, before);
      };
      const watch = { resource, notify };
      watches.add(watch);
      for (const [key, object] of of(resource.plural)) notify(key, object);
      const synced = isHeld ? new Promise<void>((resolve) => released.add(resolve)) : Promise.resolve();
      return { synced, stop: async () => void watches.delete(watch) };
    },
    set: (plural, object) => change(plural, keyOf(object.metadata ?? {}), object),
    remove: (plural, object) => change(plural, keyOf(object.metadata ?? {}), undefined),
    watched: () => [...watches].map(({ resource }) => `${resource.plural} ${resource.version}`).sort(),
    hold: (wanted) => {
      isHeld = wanted;
      if (!isHeld) for (const release of released) release();
    },
  };
}
