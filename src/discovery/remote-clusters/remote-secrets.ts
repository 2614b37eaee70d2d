import { createHash } from "node:crypto";
import { Secret } from "../../base/secret.ts";
import { fields, type KubernetesObject, keyOf } from "../../mesh-model/kubernetes-object.ts";

/** Secrets with this label in the control plane's namespace hold kubeconfigs of other clusters: each key is the id of one. */
export const REMOTE_SECRETS = "istio/multiCluster=true";

/** What is held of such a Secret. */
export interface RemoteSecret {
  /** By cluster id. */
  readonly kubeconfigs: Readonly<Record<string, RemoteKubeconfig>>;
}

export interface RemoteKubeconfig {
  readonly text: Secret;
  /** Of the text: equal texts need not be looked at again. */
  readonly digest: string;
}

export function reduceRemoteSecret(object: KubernetesObject): RemoteSecret | undefined {
  const { data } = object as { readonly data?: unknown };
  const entries = Object.entries(fields(data)).flatMap(([id, value]) => {
    if (typeof value !== "string" || value === "") return [];
    const text = Buffer.from(value, "base64").toString("utf8");
    return [[id, { text: new Secret(text), digest: createHash("sha256").update(text).digest("hex") }] as const];
  });
  return keyOf(object.metadata ?? {}) === "" ? undefined : { kubeconfigs: Object.fromEntries(entries) };
}

/** A cluster that Secrets name. */
export interface WantedCluster extends RemoteKubeconfig {
  readonly id: string;
  /** namespace/name of its Secret. */
  readonly secret: string;
}

export interface WantedClusters {
  readonly clusters: ReadonlyMap<string, WantedCluster>;
  /** Keys that are not followed, and why. */
  readonly ignored: readonly string[];
}

/** Of two Secrets that name one cluster, the first by name counts; none may name the control plane's own cluster. */
export function wantedClusters(secrets: ReadonlyMap<string, RemoteSecret>, ownId: string): WantedClusters {
  const clusters = new Map<string, WantedCluster>();
  const ignored: string[] = [];
  for (const [secret, { kubeconfigs }] of [...secrets].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const [id, kubeconfig] of Object.entries(kubeconfigs)) {
      const other = clusters.get(id);
      if (id === ownId) ignored.push(`Secret ${secret}: ${id} is the control plane's own cluster`);
      else if (other !== undefined)
        ignored.push(`Secret ${secret}: cluster ${id} is in Secret ${other.secret} already`);
      else clusters.set(id, { id, secret, ...kubeconfig });
    }
  }
  return { clusters, ignored };
}
