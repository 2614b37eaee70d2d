import { existsSync } from "node:fs";
import type { CloseStack } from "../base/close-stack.ts";
import { findClusterAccess, type KubernetesMetrics } from "../kubernetes/index.ts";
import type { RemoteClusterSettings } from "../settings/discovery-settings.ts";
import type { ClusterLayers } from "./config-file.ts";
import { DiscoveryError } from "./discovery-error.ts";
import type { MeshFile } from "./mesh-file.ts";
import type { MeshNetworksFile } from "./networks/start-mesh-networks.ts";
import type { StartDiscoveryOptions } from "./options.ts";
import { type RemoteClusters, startRemoteClusters } from "./remote-clusters/start-remote-clusters.ts";
import { startKubernetesSource } from "./start-kubernetes-source.ts";
import { untilSynced } from "./until-synced.ts";
import { watchMeshMaps } from "./watch-mesh-maps.ts";

type ClusterOptions = Pick<
  StartDiscoveryOptions,
  | "kubernetes"
  | "kubernetesSource"
  | "clusterId"
  | "systemNamespace"
  | "revision"
  | "sharedMeshConfig"
  | "meshConfigFile"
  | "signal"
  | "log"
>;

/** The API server of the settings, unless objects come from somewhere else. Rejects where the settings cannot be used. */
export async function connectCluster(
  { kubernetes, kubernetesSource, clusterId = "Kubernetes", log }: ClusterOptions,
  metrics: KubernetesMetrics,
  opened: CloseStack,
): Promise<Pick<StartDiscoveryOptions, "kubernetesSource">> {
  if (kubernetesSource !== undefined || kubernetes === undefined) return {};
  const { kubeconfig, environment } = kubernetes;
  const access = await findClusterAccess({ kubeconfig, env: environment });
  const source = startKubernetesSource({ access, clusterId, environment, metrics, log: log.scope("kube") });
  return { kubernetesSource: opened.add(source) };
}

/** Where there is a cluster, it may hold the mesh config. Rejects where the config cannot be read and there is no file: defaults could be an open mesh. */
export async function connectMeshMaps(
  options: ClusterOptions,
  opened: CloseStack,
): Promise<(ClusterLayers & { readonly networks: ClusterLayers }) | undefined> {
  const { kubernetesSource: source, systemNamespace: namespace = "istio-system", revision = "", signal, log } = options;
  if (source === undefined) return undefined;
  const maps = watchMeshMaps({ source, namespace, revision, shared: options.sharedMeshConfig ?? "" });
  opened.defer(() => maps.stop());
  const watches = maps.watches.map(({ name, watch }) => [`ConfigMap ${namespace}/${name}`, watch] as const);
  const missing = await untilSynced({ watches, log: log.scope("kube"), signal, needsSome: false });
  const [problem] = missing.values();
  if (problem !== undefined && !existsSync(options.meshConfigFile ?? ""))
    throw new DiscoveryError(
      "invalid-mesh-config",
      `the mesh config cannot be read: ${problem}; allow it, or give the mesh config as a file with --meshConfig`,
    );
  return maps;
}

/** The defaults of the environment. */
const REMOTE: RemoteClusterSettings = { timeoutMs: 30_000, staleMs: 0, allowedOptions: [] };

/** Other clusters of the mesh, where there is one that may name them. */
export function connectRemoteClusters(
  options: StartDiscoveryOptions,
  { mesh, networks }: { readonly mesh: MeshFile; readonly networks: MeshNetworksFile },
  metrics: KubernetesMetrics,
  opened: CloseStack,
): RemoteClusters | undefined {
  const { kubernetesSource: source, kubernetes, clusterId = "Kubernetes", log } = options;
  if (source === undefined) return undefined;
  return opened.add(
    startRemoteClusters({
      source,
      ownId: clusterId,
      mesh,
      networks,
      domainSuffix: options.domainSuffix ?? "cluster.local",
      systemNamespace: options.systemNamespace ?? "istio-system",
      settings: kubernetes?.remote ?? REMOTE,
      environment: kubernetes?.environment ?? {},
      metrics,
      log: log.scope("kube"),
    }),
  );
}
