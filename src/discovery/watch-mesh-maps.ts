import type { MeshLayer } from "../mesh-model/build-mesh-settings.ts";
import { fields, type KubernetesObject } from "../mesh-model/kubernetes-object.ts";
import type { ClusterLayers } from "./config-file.ts";
import type { KubernetesSource, ObjectWatch } from "./kubernetes-source.ts";

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

/** The keys of a ConfigMap that count. */
interface MeshMap {
  readonly mesh: string | undefined;
  readonly networks: string | undefined;
}

function readMeshMap(object: KubernetesObject): MeshMap {
  const { mesh, meshNetworks } = fields((object as { readonly data?: unknown }).data);
  return {
    mesh: typeof mesh === "string" ? mesh : undefined,
    networks: typeof meshNetworks === "string" ? meshNetworks : undefined,
  };
}

interface MeshMaps extends ClusterLayers, ObjectWatch {
  /** Networks of the control plane's revision, beside its mesh config. */
  readonly networks: ClusterLayers;
  /** By the name of the ConfigMap. */
  readonly watches: readonly { readonly name: string; readonly watch: ObjectWatch }[];
}

/** Follows the mesh config of a cluster: that of the control plane's revision, and that of the user. */
export function watchMeshMaps({ source, namespace, revision, shared }: MeshMapsOptions): MeshMaps {
  const maps = new Map<string, MeshMap>();
  const listeners = new Set<() => void>();
  const follow = (name: string) =>
    source.watch<MeshMap>({
      resource: { group: "", version: "v1", plural: "configmaps", namespace, name },
      reduce: (object) => (object.metadata?.name === name ? readMeshMap(object) : undefined),
      onChange: (_key, map) => {
        if (map === undefined) maps.delete(name);
        else maps.set(name, map);
        for (const listener of [...listeners]) listener();
      },
    });
  const own = meshMapName(revision);
  const watches = [...new Set([own, shared])]
    .filter((name) => name !== "")
    .map((name) => ({ name, watch: follow(name) }));
  const layer = (name: string, key: keyof MeshMap): MeshLayer | undefined => {
    const text = maps.get(name)?.[key];
    return text === undefined ? undefined : { text, source: `ConfigMap ${namespace}/${name}` };
  };
  const subscribe = (listener: () => void) => {
    const entry = () => listener();
    listeners.add(entry);
    return () => void listeners.delete(entry);
  };
  return {
    watches,
    get own() {
      return layer(own, "mesh");
    },
    get shared() {
      return shared === own ? undefined : layer(shared, "mesh");
    },
    subscribe,
    networks: {
      get own() {
        return layer(own, "networks");
      },
      shared: undefined,
      subscribe,
    },
    synced: Promise.all(watches.map(({ watch }) => watch.synced)).then(() => undefined),
    stop: async () => {
      await Promise.all(watches.map(({ watch }) => watch.stop()));
    },
  };
}
