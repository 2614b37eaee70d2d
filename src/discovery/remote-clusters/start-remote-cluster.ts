import { CloseStack } from "../../base/close-stack.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import type { MeshNetwork } from "../../istio-api/mesh-config/mesh-networks.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import { followCluster } from "../follow-cluster.ts";
import { awaySince, type KindFreshness } from "../kubernetes-source.ts";
import {
  createKubernetesRegistry,
  type KubernetesRegistry,
} from "../registries/kubernetes/create-kubernetes-registry.ts";
import type { StartedSource } from "../start-kubernetes-source.ts";
import { createMemoryStore } from "../stores/create-memory-store.ts";
import { untilSynced } from "../until-synced.ts";

export interface RemoteClusterOptions {
  readonly id: string;
  /** Of the cluster; stopped with it. */
  readonly source: StartedSource;
  readonly mesh: () => MeshSettings;
  readonly networks: () => readonly MeshNetwork[];
  readonly domainSuffix: string;
  readonly systemNamespace: string;
  /** How long its endpoints stay in force while its API server is away; 0: for as long as that takes. */
  readonly staleMs: number;
  /** Its services count from now on, until what it returns is called. */
  readonly show: (registry: KubernetesRegistry) => () => Promise<void>;
  readonly log: Logger;
}

/** "let-go": away for longer than its endpoints stay in force. */
export type RemoteClusterState = "syncing" | "synced" | "stale" | "let-go";

export interface RemoteCluster extends Handle {
  readonly state: RemoteClusterState;
  /** Milliseconds since 1970; undefined while its API server answers. */
  readonly awaySince: number | undefined;
  readonly api: StartedSource["api"];
  readonly synced: Promise<void>;
  freshness(): readonly KindFreshness[];
  /** The mesh settings or its networks have changed. */
  meshChanged(): void;
  /** Its services do not count any more: another source of the same cluster takes over. */
  retire(): void;
}

/** How often it is looked whether the API server is away. */
const LOOK_MS = 1000;

/** Follows the services of another cluster. Its rules are not read: those of the mesh are in the control plane's own cluster. */
export function startRemoteCluster(options: RemoteClusterOptions): RemoteCluster {
  const { id, source, mesh, networks, staleMs, show, log } = options;
  const opened = new CloseStack();
  const ending = new AbortController();
  opened.add(source);
  const registry = createKubernetesRegistry({
    store: createMemoryStore(),
    clusterId: id,
    domainSuffix: options.domainSuffix,
    systemNamespace: options.systemNamespace,
    trustDomain: mesh().trustDomain,
    discoverySelectors: mesh().source.discoverySelectors,
    networks: networks(),
  });
  opened.defer(() => registry.close());
  let isSynced = false;
  let isRetired = false;
  let hide: (() => Promise<void>) | undefined;
  let hidden: Promise<unknown> = Promise.resolve();
  const conceal = () => {
    if (hide !== undefined) hidden = Promise.all([hidden, hide()]);
    hide = undefined;
  };
  let scheduled: NodeJS.Immediate | undefined;
  opened.defer(() => clearImmediate(scheduled));
  const commit = () => {
    scheduled = undefined;
    registry.commit();
  };
  const onChange = () => {
    if (isSynced) scheduled ??= setImmediate(commit);
  };
  const watches = followCluster(source, registry, onChange, opened);
  const away = () => (isSynced ? awaySince(source.freshness()) : undefined);
  // By a clock that cannot be set: a jump of the wall clock must not take endpoints away.
  let lostAt: number | undefined;
  const look = () => {
    lostAt = away() === undefined ? undefined : (lostAt ?? performance.now());
    const isExpired = staleMs > 0 && lostAt !== undefined && performance.now() - lostAt > staleMs;
    if (!isSynced || isRetired || isExpired === (hide === undefined)) return;
    if (hide === undefined) {
      hide = show(registry);
      log.info("services of a cluster are back", { cluster: id });
      return;
    }
    conceal();
    log.warn("services of a cluster are let go: its API server has been away too long", { cluster: id, staleMs });
  };
  const retire = () => {
    isRetired = true;
    conceal();
  };
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  const synced = untilSynced({ watches, log, signal: ending.signal }).then(() => {
    isSynced = true;
    registry.markSynced();
    if (isRetired) return;
    hide = show(registry);
    log.info("services of a cluster are known", { cluster: id, services: registry.services().length });
  });
  // Stopped before: whoever waits for it looks at `state`.
  const settled = synced.catch(() => undefined);
  return toHandle({
    get state(): RemoteClusterState {
      if (!isSynced) return "syncing";
      if (hide === undefined) return "let-go";
      return away() === undefined ? "synced" : "stale";
    },
    get awaySince() {
      return away();
    },
    api: source.api,
    synced: settled,
    freshness: () => source.freshness(),
    meshChanged: () => {
      registry.setTrustDomain(mesh().trustDomain);
      registry.setDiscoverySelectors(mesh().source.discoverySelectors);
      registry.setNetworks(networks());
    },
    retire,
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      ending.abort(new Error(`cluster ${id} is not followed any more`));
      clearInterval(timer);
      await settled;
      retire();
      await hidden;
      await opened.close();
    },
  });
}
