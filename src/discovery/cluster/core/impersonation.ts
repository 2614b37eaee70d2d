import { parseSpiffe } from "../../../mesh-model/workload-identity.ts";

/** A caller whose token was reviewed. */
export interface NodeCaller {
  /** Of its token. */
  readonly identity: string;
  /** That the token is bound to; empty where it is not. */
  readonly pod: { readonly name: string; readonly uid: string };
}

export interface NodeRules {
  /** `CA_TRUSTED_NODE_ACCOUNTS`, `namespace/name`. */
  readonly trusted: ReadonlySet<string>;
  readonly trustDomain: string;
  readonly pods: Pick<PodIndex, "get" | "has">;
}

/** Why the caller may not have a certificate for the identity; undefined: a pod of that identity runs on the caller's own node. */
export function impersonationProblem(caller: NodeCaller, identity: string, rules: NodeRules): string | undefined {
  const own = parseSpiffe(caller.identity);
  const account = `${own?.namespace}/${own?.serviceAccount}`;
  if (own === undefined || !rules.trusted.has(account))
    return `${own === undefined ? caller.identity : account} is not among CA_TRUSTED_NODE_ACCOUNTS (${[...rules.trusted].join(", ") || "none"})`;
  const wanted = parseSpiffe(identity);
  if (wanted === undefined) return `${JSON.stringify(identity)} is not spiffe://TRUST-DOMAIN/ns/NAMESPACE/sa/ACCOUNT`;
  if (wanted.trustDomain !== rules.trustDomain)
    return `trust domain ${wanted.trustDomain} is not that of the mesh, ${rules.trustDomain}`;
  if (caller.pod.name === "") return "the token is not bound to a pod, so that its node is not known";
  const key = `${own.namespace}/${caller.pod.name}`;
  const pod = rules.pods.get(key);
  if (pod === undefined) return `pod ${key} is not known`;
  if (pod.uid !== caller.pod.uid) return `pod ${key} has uid ${pod.uid}, the token is for ${caller.pod.uid}`;
  if (pod.account !== own.serviceAccount)
    return `pod ${key} runs as ${pod.account}, the token is of ${own.serviceAccount}`;
  if (pod.node === "") return `pod ${key} is on no node yet`;
  const { namespace, serviceAccount } = wanted;
  if (rules.pods.has({ node: pod.node, namespace, account: serviceAccount })) return undefined;
  return `no instances of ${namespace}/${serviceAccount} found on node ${pod.node}`;
}

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
