/** What is held of a pod for node authorization. */
export interface PlacedPod {
  readonly uid: string;
  readonly namespace: string;
  readonly account: string;
  readonly node: string;
}

/** Pods by name, and how many of an account are on a node. */
export interface PodIndex {
  /** `namespace/name`; undefined: it is gone. */
  set(key: string, pod: PlacedPod | undefined): void;
  get(key: string): PlacedPod | undefined;
  has(account: Omit<PlacedPod, "uid">): boolean;
}

export function createPodIndex(): PodIndex {
  const pods = new Map<string, PlacedPod>();
  const counts = new Map<string, number>();
  const count = (pod: PlacedPod | undefined, by: 1 | -1) => {
    if (pod === undefined || pod.node === "") return;
    const key = placeKey(pod);
    const next = (counts.get(key) ?? 0) + by;
    if (next === 0) counts.delete(key);
    else counts.set(key, next);
  };
  return {
    set: (key, pod) => {
      count(pods.get(key), -1);
      if (pod === undefined) pods.delete(key);
      else pods.set(key, pod);
      count(pod, 1);
    },
    get: (key) => pods.get(key),
    has: (account) => counts.has(placeKey(account)),
  };
}

function placeKey({ node, namespace, account }: Omit<PlacedPod, "uid">): string {
  return `${node}/${namespace}/${account}`;
}
