import type { CloseStack } from "../base/close-stack.ts";
import type { Logger } from "../base/logger.ts";
import type { Kind } from "../istio-api/kinds.ts";
import type { ConfigStore } from "../mesh-model/config-store.ts";
import { followCluster } from "./follow-cluster.ts";
import type { KubernetesSource, WatchedResource } from "./kubernetes-source.ts";
import type { MeshFile } from "./mesh-file.ts";
import type { MeshNetworksFile } from "./networks/start-mesh-networks.ts";
import {
  createKubernetesRegistry,
  type KubernetesRegistry,
} from "./registries/kubernetes/create-kubernetes-registry.ts";
import { createKubernetesStore, type KubernetesStore } from "./stores/create-kubernetes-store.ts";
import { type RuleWatch, watchRules } from "./stores/watch-rules.ts";
import { untilSynced } from "./until-synced.ts";

export interface KubernetesParts {
  readonly source: KubernetesSource;
  readonly mesh: MeshFile;
  readonly networks: Pick<MeshNetworksFile, "value" | "subscribe">;
  /** Addresses of the cluster are on other networks than before. */
  readonly onNetworks: () => void;
  readonly clusterId: string;
  readonly domainSuffix: string;
  readonly systemNamespace: string;
  readonly log: Logger;
  readonly signal: AbortSignal | undefined;
  readonly opened: CloseStack;
}

/** The rules of a cluster, and its services once all rules of the mesh are known. */
export interface ConnectedKubernetes {
  readonly store: KubernetesStore;
  /** `all`: the store that holds WorkloadEntries of every source. Resolves when everything that the cluster has is known. */
  connect(all: ConfigStore): Promise<KubernetesRegistry>;
  /** How rule objects of the kind are read now; undefined while the API server does not know it. */
  resource(kind: Kind): WatchedResource | undefined;
}

/** Follows a cluster. Changes that arrive together become one change of the mesh. */
export function connectKubernetes(parts: KubernetesParts): ConnectedKubernetes {
  const { source, mesh, networks, clusterId, domainSuffix, systemNamespace, log, opened } = parts;
  let registry: KubernetesRegistry | undefined;
  let rules: RuleWatch | undefined;
  let isSynced = false;
  let scheduled: NodeJS.Immediate | undefined;
  const store = createKubernetesStore((namespace) => registry?.isDiscovered(namespace) ?? true);
  const commit = () => {
    scheduled = undefined;
    registry?.commit();
    store.commit();
  };
  const schedule = () => {
    if (isSynced) scheduled ??= setImmediate(commit);
  };
  opened.defer(() => clearImmediate(scheduled));
  return {
    store,
    resource: (kind) => rules?.resource(kind),
    connect: async (all) => {
      const { trustDomain, source: settings } = mesh.settings;
      const created = createKubernetesRegistry({
        store: all,
        clusterId,
        domainSuffix,
        systemNamespace,
        trustDomain,
        discoverySelectors: settings.discoverySelectors,
        networks: networks.value,
        onNetworks: parts.onNetworks,
      });
      networks.subscribe(created.setNetworks);
      opened.defer(() => created.close());
      registry = created;
      mesh.subscribe((changed) => {
        created.setTrustDomain(changed.trustDomain);
        created.setDiscoverySelectors(changed.source.discoverySelectors);
        store.namespacesChanged();
        store.commit();
      });
      const onChange = (kind: string) => {
        if (kind === "Namespace") store.namespacesChanged();
        schedule();
      };
      const watches = followCluster(source, created, onChange, opened);
      const followed = watchRules({ source, store, onChange: schedule, log });
      rules = followed;
      opened.defer(() => followed.stop());
      await untilSynced({ watches: [...watches, ["rules", followed]], log, signal: parts.signal });
      isSynced = true;
      created.markSynced();
      store.commit();
      return created;
    },
  };
}
