import type { CloseStack } from "../base/close-stack.ts";
import type { Logger } from "../base/logger.ts";
import { untilAborted } from "../base/wait.ts";
import type { ConfigStore } from "../mesh-model/config-store.ts";
import type { KubernetesSource, ObjectWatch, WatchedResource } from "./kubernetes-source.ts";
import type { MeshFile } from "./mesh-file.ts";
import {
  createKubernetesRegistry,
  type KubernetesRegistry,
} from "./registries/kubernetes/create-kubernetes-registry.ts";
import { REDUCERS, type ReducedKinds } from "./registries/kubernetes/reduce-object.ts";
import { createKubernetesStore, type KubernetesStore } from "./stores/create-kubernetes-store.ts";
import { watchRules } from "./stores/watch-rules.ts";

const RESOURCES: { readonly [Of in keyof ReducedKinds]: WatchedResource } = {
  Namespace: { group: "", version: "v1", plural: "namespaces" },
  Node: { group: "", version: "v1", plural: "nodes" },
  Pod: { group: "", version: "v1", plural: "pods" },
  Service: { group: "", version: "v1", plural: "services" },
  EndpointSlice: { group: "discovery.k8s.io", version: "v1", plural: "endpointslices" },
};

/** How often a start that waits for the API server says what it waits for. */
const REMIND_MS = 10_000;

export interface KubernetesParts {
  readonly source: KubernetesSource;
  readonly mesh: MeshFile;
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
}

/** Follows a cluster. Changes that arrive together become one change of the mesh. */
export function connectKubernetes(parts: KubernetesParts): ConnectedKubernetes {
  const { source, mesh, clusterId, domainSuffix, systemNamespace, log, opened } = parts;
  let registry: KubernetesRegistry | undefined;
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
  const watches = new Map<string, ObjectWatch>();
  const watchKind = <Of extends keyof ReducedKinds>(kind: Of, into: KubernetesRegistry) => {
    const watch = source.watch<ReducedKinds[Of]>({
      resource: RESOURCES[kind],
      reduce: REDUCERS[kind],
      onChange: (key, after) => {
        into.set(kind, key, after);
        if (kind === "Namespace") store.namespacesChanged();
        schedule();
      },
    });
    watches.set(RESOURCES[kind].plural, watch);
    opened.defer(() => watch.stop());
  };
  return {
    store,
    connect: async (all) => {
      const { trustDomain, source: settings } = mesh.settings;
      const created = createKubernetesRegistry({
        store: all,
        clusterId,
        domainSuffix,
        systemNamespace,
        trustDomain,
        discoverySelectors: settings.discoverySelectors,
      });
      opened.defer(() => created.close());
      registry = created;
      mesh.subscribe((changed) => {
        created.setTrustDomain(changed.trustDomain);
        created.setDiscoverySelectors(changed.source.discoverySelectors);
        store.namespacesChanged();
        store.commit();
      });
      for (const kind of Object.keys(RESOURCES) as (keyof ReducedKinds)[]) watchKind(kind, created);
      const rules = watchRules({ source, store, onChange: schedule, log });
      opened.defer(() => rules.stop());
      await untilSynced([...watches, ["rules", rules]], log, parts.signal);
      isSynced = true;
      created.markSynced();
      store.commit();
      return created;
    },
  };
}

/** A mesh of which a part is not known would take endpoints from proxies that still have them: better no answer than a wrong one. */
async function untilSynced(
  watches: readonly (readonly [string, ObjectWatch])[],
  log: Logger,
  signal: AbortSignal | undefined,
): Promise<void> {
  const waiting = new Set(watches.map(([name]) => name));
  const all = Promise.all(watches.map(([name, { synced }]) => synced.then(() => waiting.delete(name))));
  const reminder = setInterval(
    () => log.warn("objects of the API server are not read yet", { waiting: [...waiting].join(",") }),
    REMIND_MS,
  );
  try {
    await Promise.race([all, ...(signal ? [untilAborted(signal)] : [])]);
    signal?.throwIfAborted();
  } finally {
    clearInterval(reminder);
  }
}
