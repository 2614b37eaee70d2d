import type { MeshLayer } from "../mesh-model/build-mesh-settings.ts";
import { fields, type KubernetesObject } from "../mesh-model/kubernetes-object.ts";
import type { KubernetesSource, ObjectWatch } from "./kubernetes-source.ts";
import type { ClusterMesh } from "./mesh-file.ts";

interface MeshMapsOptions {
  readonly source: KubernetesSource;
  /** Of the control plane. */
  readonly namespace: string;
  readonly revision: string;
  /** Name of the user's ConfigMap; none when empty. */
  readonly shared: string;
}

/** The name of the ConfigMap that holds the mesh config of a revision. */
export function meshMapName(revision: string): string {
  return revision === "" || revision === "default" ? "istio" : `istio-${revision}`;
}

/** The mesh config of a ConfigMap, under the key `mesh`; undefined where it has none. */
function readMeshMap(object: KubernetesObject): string | undefined {
  const { mesh } = fields((object as { readonly data?: unknown }).data);
  return typeof mesh === "string" ? mesh : undefined;
}

interface MeshMaps extends ClusterMesh, ObjectWatch {
  /** By the name of the ConfigMap. */
  readonly watches: readonly { readonly name: string; readonly watch: ObjectWatch }[];
}

/** Follows the mesh config of a cluster: that of the control plane's revision, and that of the user. */
export function watchMeshMaps({ source, namespace, revision, shared }: MeshMapsOptions): MeshMaps {
  const layers = new Map<string, MeshLayer>();
  const listeners = new Set<() => void>();
  const follow = (name: string) =>
    source.watch<string>({
      resource: { group: "", version: "v1", plural: "configmaps", namespace, name },
      reduce: (object) => (object.metadata?.name === name ? readMeshMap(object) : undefined),
      onChange: (_key, text) => {
        if (text === undefined) layers.delete(name);
        else layers.set(name, { text, source: `ConfigMap ${namespace}/${name}` });
        for (const listener of [...listeners]) listener();
      },
    });
  const own = meshMapName(revision);
  const watches = [...new Set([own, shared])]
    .filter((name) => name !== "")
    .map((name) => ({ name, watch: follow(name) }));
  return {
    watches,
    get own() {
      return layers.get(own);
    },
    get shared() {
      return shared === own ? undefined : layers.get(shared);
    },
    subscribe: (listener) => {
      const entry = () => listener();
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    synced: Promise.all(watches.map(({ watch }) => watch.synced)).then(() => undefined),
    stop: async () => {
      await Promise.all(watches.map(({ watch }) => watch.stop()));
    },
  };
}
