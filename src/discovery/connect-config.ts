import { abortAfter } from "../base/abort-after.ts";
import type { CloseStack } from "../base/close-stack.ts";
import type { Logger } from "../base/logger.ts";
import { untilAborted } from "../base/wait.ts";
import { networkOfAddress } from "../istio-api/mesh-config/mesh-networks.ts";
import type { ConfigStore } from "../mesh-model/config-store.ts";
import { type ConnectedConsul, connectConsul } from "./connect-consul.ts";
import { connectKubernetes } from "./connect-kubernetes.ts";
import { connectWorkloads } from "./connect-workloads.ts";
import {
  type CredentialStore,
  type CredentialTable,
  createCredentialTable,
} from "./credentials/create-credential-table.ts";
import { DiscoveryError } from "./discovery-error.ts";
import type { MeshFile } from "./mesh-file.ts";
import type { MeshNetworksFile } from "./networks/start-mesh-networks.ts";
import type { StartDiscoveryOptions } from "./options.ts";
import type { ConfigParser } from "./parse/config-parser.ts";
import { type AggregateRegistry, createAggregateRegistry } from "./registries/create-aggregate-registry.ts";
import { createServiceEntryRegistry, type ServiceEntryRegistry } from "./registries/create-service-entry-registry.ts";
import type { RemoteClusters } from "./remote-clusters/start-remote-clusters.ts";
import { ownFreshness, type SourceFreshness } from "./source-freshness.ts";
import { combineStores } from "./stores/config-snapshot.ts";
import type { KubernetesStore } from "./stores/create-kubernetes-store.ts";
import { createMemoryStore, type MemoryStore } from "./stores/create-memory-store.ts";
import { type FileStore, startFileStore } from "./stores/start-file-store.ts";
import { createWorkloadStore } from "./workloads/create-workload-store.ts";
import type { WorkloadStreams } from "./workloads/start-workload-controller.ts";

export interface ConnectedConfig {
  /** Files first, then Kubernetes: of two objects with one name theirs counts. */
  readonly store: ConfigStore;
  readonly files: ConfigStore | undefined;
  /** Where an object of files is written. */
  readonly positionOf: FileStore["positionOf"];
  readonly memory: MemoryStore;
  /** The cluster's part of it. */
  readonly cluster: KubernetesStore | undefined;
  readonly registry: AggregateRegistry;
  /** Endpoints that Kubernetes names, of pods that it has not shown yet. */
  readonly endpointsWithoutPod: () => number;
  readonly workloads: WorkloadStreams;
  /** Secrets of rule folders and of the config API. */
  readonly credentials: { readonly files: readonly CredentialStore[]; readonly memory: CredentialTable };
  /** How old what is known of clusters and Consul is. */
  readonly sources: () => readonly SourceFreshness[];
}

export interface ConfigParts {
  readonly mesh: MeshFile;
  readonly networks: MeshNetworksFile;
  readonly parser: ConfigParser;
  readonly remote: RemoteClusters | undefined;
  readonly opened: CloseStack;
}

/** Where rules and services come from. */
export async function connectConfig(
  options: StartDiscoveryOptions,
  { mesh, networks, parser, remote, opened }: ConfigParts,
): Promise<ConnectedConfig> {
  const log = options.log.scope("validation");
  const { configDir, clusterId = "Kubernetes" } = options;
  const directories: FileStore[] = [];
  for (const dir of configDirectories(mesh.settings.source, configDir, log)) {
    directories.push(opened.add(await startFileStore({ dir, log, parser })));
  }
  const [only, ...more] = directories;
  const files = more.length === 0 ? only : opened.add(combineStores(directories));
  const memory = createMemoryStore();
  const { trustDomain } = mesh.settings;
  const consul =
    options.consul &&
    connectConsul(options.consul, {
      parser,
      log: options.log.scope("consul"),
      opened,
      trustDomain,
      clusterId: "Consul",
    });
  let entries: ServiceEntryRegistry | undefined;
  const cluster =
    options.kubernetesSource &&
    connectKubernetes({
      source: options.kubernetesSource,
      mesh,
      networks,
      onNetworks: () => entries?.networksChanged(),
      clusterId,
      domainSuffix: options.domainSuffix ?? "cluster.local",
      systemNamespace: options.systemNamespace ?? "istio-system",
      log: options.log.scope("kube"),
      signal: options.signal,
      opened,
    });
  const stores = [files, cluster?.store, memory, consul?.store].filter((each) => each !== undefined);
  const store = opened.add(createWorkloadStore(opened.add(combineStores(stores))));
  const workloads = connectWorkloads({ options, store, cluster, opened });
  const kubernetes = await cluster?.connect(store);
  const pods = kubernetes === undefined ? [] : [kubernetes.workloads];
  const networkOf = kubernetes?.networkOf ?? ((address) => networkOfAddress(networks.value, clusterId, address));
  const described = createServiceEntryRegistry({ store, clusterId, trustDomain, workloads: pods, networkOf });
  entries = described;
  opened.add(described);
  networks.subscribe(() => described.networksChanged());
  mesh.subscribe((settings) => {
    described.setTrustDomain(settings.trustDomain);
    consul?.registry.setTrustDomain(settings.trustDomain);
  });
  if (consul !== undefined) await untilRead(consul, options);
  const registries = [kubernetes, described, consul?.registry].filter((each) => each !== undefined);
  const registry = createAggregateRegistry(registries);
  remote?.use({
    cluster: ({ registry: added }) => {
      const ends = [registry.add(added), described.addWorkloads(added.workloads)];
      return async () => {
        for (const end of ends) end();
      };
    },
  });
  await remote?.settle(options.signal);
  return {
    store,
    files,
    positionOf: (ref) => {
      for (const directory of directories) {
        const position = directory.positionOf(ref);
        if (position !== undefined) return position;
      }
      return undefined;
    },
    memory,
    cluster: cluster?.store,
    registry,
    endpointsWithoutPod: () => kubernetes?.endpointsWithoutPod() ?? 0,
    workloads,
    credentials: { files: directories.map(({ credentials }) => credentials), memory: createCredentialTable() },
    sources: () => [
      ...(options.kubernetesSource === undefined
        ? []
        : [ownFreshness(clusterId, "Kubernetes", options.kubernetesSource.freshness?.() ?? [])]),
      ...(remote?.all() ?? []).map((cluster) => ({ ...cluster, provider: "Kubernetes" as const })),
      ...(consul === undefined ? [] : [ownFreshness("Consul", "Consul", consul.freshness())]),
    ],
  };
}

/** The first answer to a proxy has what Consul knows. One that is silent for this long is away, and the start goes on without it. */
const SILENCE_MS = 10_000;

/** A large catalog takes longer than that, and is read to its end: proxies must not lose what was only not read yet. */
async function untilRead(
  { synced, answeredAt }: ConnectedConsul,
  { signal, log }: StartDiscoveryOptions,
): Promise<void> {
  const begin = Date.now();
  let isRead = false;
  void synced.then(() => {
    isRead = true;
  });
  for (;;) {
    const leftMs = Math.max(begin, answeredAt()) + SILENCE_MS - Date.now();
    if (leftMs <= 0) break;
    using limit = abortAfter(leftMs, signal);
    await Promise.race([synced, untilAborted(limit.signal)]);
    signal?.throwIfAborted();
    if (isRead) return;
  }
  log.scope("consul").warn("Consul has not been read yet; its services follow when it answers");
}

interface ConfigSource {
  readonly address?: unknown;
}

/**
 * Directories that rule objects are read from: those of the mesh config's `configSources`, or the one given at the start. Sources of other
 * kinds are logged and ignored.
 */
export function configDirectories(
  { configSources }: { readonly configSources?: unknown },
  configDir: string | undefined,
  log: Logger,
): readonly string[] {
  const sources = Array.isArray(configSources) ? (configSources as readonly ConfigSource[]) : [];
  const directories = sources.flatMap(({ address }) => {
    const text = String(address ?? "");
    const path = directoryOf(text);
    if (path === undefined)
      log.warn("config source is not supported and ignored, allowed is fs:///DIR", { address: text });
    return path ?? [];
  });
  if (directories.length === 0) return configDir === undefined ? [] : [configDir];
  if (configDir !== undefined) log.warn("--configDir is not read: the mesh config has configSources", { configDir });
  return [...new Set(directories)];
}

/** Undefined for sources that are not directories. */
function directoryOf(address: string): string | undefined {
  if (!address.startsWith("fs://")) return undefined;
  const [, path = ""] = /^fs:\/\/[^/]*(\/.*)?$/.exec(address) ?? [];
  if (path !== "") return decodeURIComponent(path);
  throw new DiscoveryError(
    "invalid-mesh-config",
    `mesh config: invalid fs config URL ${address}, contains no file path; expected fs:///DIR`,
  );
}
