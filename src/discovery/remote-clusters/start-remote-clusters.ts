import { abortAfter } from "../../base/abort-after.ts";
import { errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { untilAborted } from "../../base/wait.ts";
import { type KubernetesMetrics, parseForeignKubeconfig } from "../../kubernetes/index.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { RemoteClusterSettings } from "../../settings/discovery-settings.ts";
import type { ClusterApi } from "../cluster/cluster-api.ts";
import type { KindFreshness, KubernetesSource } from "../kubernetes-source.ts";
import type { MeshNetworksFile } from "../networks/start-mesh-networks.ts";
import type { KubernetesRegistry } from "../registries/kubernetes/create-kubernetes-registry.ts";
import { type StartedSource, startKubernetesSource } from "../start-kubernetes-source.ts";
import { untilSynced } from "../until-synced.ts";
import {
  REMOTE_SECRETS,
  type RemoteSecret,
  reduceRemoteSecret,
  type WantedCluster,
  wantedClusters,
} from "./remote-secrets.ts";
import { type RemoteCluster, type RemoteClusterState, startRemoteCluster } from "./start-remote-cluster.ts";

export interface RemoteClustersOptions {
  /** The control plane's own cluster, where the Secrets are. */
  readonly source: KubernetesSource;
  readonly ownId: string;
  readonly mesh: { readonly settings: MeshSettings; subscribe(listener: () => void): void };
  readonly networks: Pick<MeshNetworksFile, "value" | "subscribe">;
  readonly domainSuffix: string;
  readonly systemNamespace: string;
  readonly settings: RemoteClusterSettings;
  /** For credential plugins, where they are allowed. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly metrics: KubernetesMetrics;
  readonly log: Logger;
}

/** A cluster that a Secret names, as pages and metrics show it. */
export interface ShownCluster {
  readonly id: string;
  readonly secret: string;
  /** "failed": its kubeconfig cannot be used. */
  readonly state: RemoteClusterState | "failed";
  readonly problem?: string;
  /** Milliseconds since 1970; absent while its API server answers. */
  readonly awaySince?: number;
  readonly kinds: readonly KindFreshness[];
}

/** Who uses what clusters have, from when it is known until it is not any more. */
export interface ClusterUser {
  /** What the cluster has counts. Returns what ends it: at once, and resolves when nothing is asked of the cluster any more. */
  cluster(cluster: KnownCluster): () => Promise<void>;
}

/** A cluster whose objects are known. */
export interface KnownCluster {
  readonly id: string;
  readonly registry: KubernetesRegistry;
  readonly source: StartedSource;
}

export interface RemoteClusters extends Handle {
  /** Clusters that are known already are passed on at once. */
  use(user: ClusterUser): void;
  /** Resolves when every cluster that was named at the start is known, or when the time for that is over. */
  settle(signal?: AbortSignal): Promise<void>;
  api(id: string): ClusterApi | undefined;
  all(): readonly ShownCluster[];
}

/** A mesh of one cluster need not allow the Secrets of others: a start is not held up for long. */
const DENIED_MS = 2000;

interface Followed {
  readonly wanted: WantedCluster;
  readonly cluster: RemoteCluster | undefined;
  readonly problem?: string;
}

/**
 * Follows the clusters that Secrets name, from when a Secret appears until it is gone. None waits for another. Another kubeconfig of the same
 * cluster takes over when its objects are known; one that cannot be used leaves the former in force.
 */
export function startRemoteClusters(options: RemoteClustersOptions): RemoteClusters {
  const { source, ownId, mesh, networks, settings, systemNamespace, log } = options;
  const secrets = new Map<string, RemoteSecret>();
  const followed = new Map<string, Followed>();
  const stopping = new Set<Promise<void>>();
  const users = new Set<ClusterUser>();
  const shown = new Map<KnownCluster, Map<ClusterUser, () => Promise<void>>>();
  let ignored: readonly string[] = [];
  let updating: Promise<void> = Promise.resolve();
  let isStopped = false;

  const show = (cluster: KnownCluster) => {
    const ends = new Map([...users].map((user) => [user, user.cluster(cluster)]));
    shown.set(cluster, ends);
    return async () => {
      shown.delete(cluster);
      await Promise.all([...ends.values()].map((end) => end()));
    };
  };
  const end = (cluster: RemoteCluster | undefined) => {
    if (cluster === undefined) return;
    const stopped = cluster.stop().finally(() => stopping.delete(stopped));
    stopping.add(stopped);
  };
  const start = async (wanted: WantedCluster, former: RemoteCluster | undefined): Promise<RemoteCluster> => {
    const { id, secret, text } = wanted;
    const access = await parseForeignKubeconfig(text.reveal(), {
      source: `Secret ${secret}, key ${id}`,
      allowed: settings.allowedOptions,
    });
    const { environment, metrics, domainSuffix } = options;
    const read = startKubernetesSource({ access, clusterId: id, environment, metrics, log });
    return startRemoteCluster({
      id,
      source: read,
      mesh: () => mesh.settings,
      networks: () => networks.value,
      domainSuffix,
      systemNamespace,
      staleMs: settings.staleMs,
      show: (registry) => {
        // In one step: what both know does not come and go.
        former?.retire();
        return show({ id, registry, source: read });
      },
      log,
    });
  };
  const follow = async (wanted: WantedCluster) => {
    const before = followed.get(wanted.id);
    if (before?.wanted.digest === wanted.digest) return;
    try {
      const cluster = await start(wanted, before?.cluster);
      followed.set(wanted.id, { wanted, cluster });
      // The former one stays in force until then.
      if (before?.cluster !== undefined) void cluster.synced.then(() => end(before.cluster));
    } catch (thrown) {
      const problem = errorMessage(thrown);
      followed.set(wanted.id, { wanted, cluster: before?.cluster, problem });
      log.error("cluster cannot be followed", { cluster: wanted.id, error: problem });
    }
  };
  const update = async () => {
    if (isStopped) return;
    const wanted = wantedClusters(secrets, ownId);
    for (const problem of wanted.ignored.filter((each) => !ignored.includes(each)))
      log.warn("kubeconfig of a Secret is ignored", { reason: problem });
    ignored = wanted.ignored;
    for (const [id, { cluster, wanted: before }] of followed) {
      if (wanted.clusters.has(id)) continue;
      followed.delete(id);
      end(cluster);
      log.info("cluster is not followed any more", { cluster: id, secret: before.secret });
    }
    for (const cluster of wanted.clusters.values()) await follow(cluster);
  };
  const watch = source.watch<RemoteSecret>({
    resource: {
      group: "",
      version: "v1",
      plural: "secrets",
      namespace: settings.secretNamespace ?? systemNamespace,
      labelSelector: REMOTE_SECRETS,
    },
    reduce: reduceRemoteSecret,
    onChange: (key, after) => {
      if (after === undefined) secrets.delete(key);
      else secrets.set(key, after);
      updating = updating.then(update);
    },
  });
  const meshChanged = () => {
    for (const { cluster } of followed.values()) cluster?.meshChanged();
  };
  mesh.subscribe(meshChanged);
  networks.subscribe(meshChanged);
  const known = async (signal: AbortSignal) => {
    const watches = [["Secrets of other clusters", watch]] as const;
    await untilSynced({ watches, log, signal, needsSome: false, deniedMs: DENIED_MS });
    await updating;
    await Promise.all([...followed.values()].map(({ cluster }) => cluster?.synced));
  };
  return toHandle({
    use: (user: ClusterUser) => {
      users.add(user);
      for (const [cluster, ends] of shown) ends.set(user, user.cluster(cluster));
    },
    settle: async (signal?: AbortSignal) => {
      using limit = abortAfter(settings.timeoutMs || Number.POSITIVE_INFINITY, signal);
      const isKnown = await Promise.race([
        known(limit.signal).then(
          () => true,
          () => false,
        ),
        untilAborted(limit.signal).then(() => false),
      ]);
      signal?.throwIfAborted();
      if (isKnown) return;
      const missing = [...followed].filter(([, { cluster }]) => cluster?.state === "syncing").map(([id]) => id);
      log.warn("clusters are not known yet; their services follow when they answer", {
        clusters: missing.join(",") || "Secrets are not read yet",
        waitedMs: settings.timeoutMs,
      });
    },
    api: (id: string) => followed.get(id)?.cluster?.api,
    all: () =>
      [...followed].map(([id, { wanted, cluster, problem }]) => ({
        id,
        secret: wanted.secret,
        state: cluster?.state ?? "failed",
        ...(problem !== undefined && { problem }),
        ...(cluster?.awaySince !== undefined && { awaySince: cluster.awaySince }),
        kinds: cluster?.freshness() ?? [],
      })),
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      isStopped = true;
      await watch.stop();
      await updating;
      for (const { cluster } of followed.values()) end(cluster);
      while (stopping.size > 0) await Promise.all(stopping);
    },
  });
}
