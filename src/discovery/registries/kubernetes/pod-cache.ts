import { isDeepStrictEqual } from "node:util";
import { perValue } from "../../../mesh-model/derive/derived-store.ts";
import type { ProxyAddresses } from "../../../mesh-model/service-registry.ts";
import type { Workload } from "../convert-workload.ts";
import type { PodLookup } from "./convert-endpoints.ts";
import { type PlacedPod, type PodOrigin, placePod, podWorkload } from "./convert-pod.ts";
import type { ObjectIndex } from "./object-index.ts";

/** Pods together with where they run, each made once. */
export interface PodCache extends PodLookup {
  /** Looks at the pods again. Returns those that are other workloads than before. */
  refresh(keys: Iterable<string>, origin: PodOrigin): ReadonlySet<string>;
  /** The pod of a proxy: by its name, else by its address where only one has it. */
  ofProxy(proxy: ProxyAddresses): PlacedPod | undefined;
  /** Pods that are up, in the order of their names. */
  workloads(namespace: string): readonly Workload[];
}

export function createPodCache(index: ObjectIndex, isDiscovered: (namespace: string) => boolean): PodCache {
  const placed = new Map<string, PlacedPod>();
  const asWorkload = perValue(podWorkload);
  const up = (keys: Iterable<string>) =>
    [...keys]
      .sort()
      .map((key) => placed.get(key))
      .filter((found) => found?.pod.isUp === true) as readonly PlacedPod[];
  return {
    named: (key) => placed.get(key),
    at: (address, namespace) => up(index.podsAt(address)).find(({ pod }) => pod.namespace === namespace),
    refresh: (keys, origin) => {
      const changed = new Set<string>();
      for (const key of keys) {
        const before = placed.get(key);
        const pod = index.get("Pod", key);
        if (pod === undefined || !isDiscovered(pod.namespace)) {
          if (placed.delete(key)) changed.add(key);
          continue;
        }
        const after = placePod(pod, index.get("Node", pod.nodeName), origin);
        const isSame = before !== undefined && isDeepStrictEqual(before.endpoint, after.endpoint);
        if (isSame && before.pod === pod) continue;
        placed.set(key, isSame ? { pod, endpoint: before.endpoint } : after);
        changed.add(key);
      }
      return changed;
    },
    ofProxy: ({ id = "", addresses, namespace }) => {
      const suffix = `.${namespace}`;
      const named = id.endsWith(suffix) ? placed.get(`${namespace}/${id.slice(0, -suffix.length)}`) : undefined;
      if (named !== undefined) return named;
      const there = up(index.podsAt(addresses[0] ?? "")).filter(({ pod }) => pod.namespace === namespace);
      return there.length === 1 ? there[0] : undefined;
    },
    workloads: (namespace) => up(index.podsIn(namespace)).map((pod) => asWorkload(pod)),
  };
}
