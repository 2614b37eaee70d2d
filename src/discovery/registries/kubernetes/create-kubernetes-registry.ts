import { isDeepStrictEqual } from "node:util";
import type { ConfigObject } from "../../../istio-api/config-object.ts";
import { type MeshNetwork, networkOfAddress } from "../../../istio-api/mesh-config/mesh-networks.ts";
import { TOPOLOGY } from "../../../istio-api/values/topology-labels.ts";
import type { ConfigStore } from "../../../mesh-model/config-store.ts";
import { perValue } from "../../../mesh-model/derive/derived-store.ts";
import type { Endpoint, ServiceTarget } from "../../../mesh-model/endpoint.ts";
import { keyOf, listOf } from "../../../mesh-model/kubernetes-object.ts";
import type { NetworkGateway } from "../../../mesh-model/networks.ts";
import { matchesLabelSelector } from "../../../mesh-model/selector.ts";
import { serviceKey } from "../../../mesh-model/service.ts";
import type { ProxyAddresses, RegisteredWorkload, ServiceRegistry } from "../../../mesh-model/service-registry.ts";
import { toWorkload, type Workload, type WorkloadSource } from "../convert-workload.ts";
import { createRegistryState, type ServiceWithEndpoints } from "../registry-state.ts";
import { convertSlice, convertWorkloads, withoutRepeated } from "./convert-endpoints.ts";
import type { PodOrigin } from "./convert-pod.ts";
import { convertService, hostnameOf } from "./convert-service.ts";
import { describeEndpoints } from "./describe-endpoints.ts";
import { gatewaysOfService } from "./network-gateways.ts";
import { createObjectIndex, type ObjectIndex, type Touched } from "./object-index.ts";
import { createObjectVersions, type ObjectVersions } from "./object-versions.ts";
import { createPodCache } from "./pod-cache.ts";
import { type KnownService, metadataTargets, podTargets, workloadTargets } from "./pod-targets.ts";
import { createServiceSelectors } from "./service-selectors.ts";

export interface KubernetesRegistryOptions {
  /** WorkloadEntries in it are endpoints of the Services that select them. */
  readonly store: ConfigStore;
  readonly clusterId: string;
  readonly trustDomain: string;
  readonly domainSuffix: string;
  /** Its label says which network the cluster's pods are on; "istio-system" when absent. */
  readonly systemNamespace?: string;
  /** Of the mesh config. */
  readonly discoverySelectors?: unknown;
  /** Of the mesh networks file. */
  readonly networks?: readonly MeshNetwork[];
  /** Addresses of the cluster are on other networks than before. */
  readonly onNetworks?: () => void;
}

/** Services of one Kubernetes cluster. Fed with reduced objects in any order; what follows from them is the same for every order. */
export interface KubernetesRegistry extends ServiceRegistry, Pick<ObjectIndex, "set"> {
  /** The version of an object that is set, or will be next; undefined when it is gone. */
  readonly setVersion: ObjectVersions["set"];
  /** Everything that the cluster has was given; until then the registry shows nothing. */
  markSynced(): void;
  /** Works out what the objects since the last call change, and lets listeners know. Costs what changed, not what there is. */
  commit(): void;
  setTrustDomain(trustDomain: string): void;
  setDiscoverySelectors(selectors: unknown): void;
  setNetworks(networks: readonly MeshNetwork[]): void;
  /** The network of an address of the cluster whose object names none; empty: not known. */
  networkOf(address: string): string;
  gateways(): readonly NetworkGateway[];
  /** False for namespaces that the mesh does not look at; rules in them do not count either. */
  isDiscovered(namespace: string): boolean;
  /** Endpoints of slices that wait for their pod. */
  endpointsWithoutPod(): number;
  /** Pods, as ServiceEntries select them. */
  readonly workloads: WorkloadSource;
  /** Ends the subscription to the store. */
  close(): void;
}

export function createKubernetesRegistry(options: KubernetesRegistryOptions): KubernetesRegistry {
  const { store, clusterId, domainSuffix, systemNamespace = "istio-system" } = options;
  const index = createObjectIndex();
  const versions = createObjectVersions();
  const state = createRegistryState();
  let { trustDomain } = options;
  let filter = createNamespaceFilter(options.discoverySelectors);
  let synced = false;
  let discovered = new Map<string, boolean>();
  const isDiscovered = (namespace: string) => filter(index.get("Namespace", namespace)?.labels ?? {});
  const pods = createPodCache(index, isDiscovered);
  const known = createServiceSelectors();
  const sliceEndpoints = new Map<string, readonly Endpoint[]>();
  let { networks = [] } = options;
  const gateways = new Map<string, readonly NetworkGateway[]>();
  /** Keys of Services whose external addresses are nodes. */
  const servicesOnNodes = new Set<string>();
  const workloadListeners = new Set<(namespaces: ReadonlySet<string>) => void>();
  /** Of pods' targets, which every push asks for. */
  let targetsCache = new WeakMap<object, readonly ServiceTarget[]>();
  /** Of the label of the system namespace: it counts for all that has no label of its own. */
  let ownNetwork = "";
  const networkOf = (address: string) => ownNetwork || networkOfAddress(networks, clusterId, address);
  let origin: PodOrigin = { trustDomain, clusterId, networkOf };
  let entries = createEntryWorkloads(store, origin);

  const endpointsOf = (serviceKeyInCluster: string, reduced: KnownService["reduced"]): readonly Endpoint[] => {
    const slices = index.slicesOf(serviceKeyInCluster).flatMap((key) => sliceEndpoints.get(key) ?? []);
    const behind = convertWorkloads(reduced, entries.of(reduced.namespace), origin);
    return Object.freeze([...withoutRepeated(slices), ...behind]);
  };
  const convert = (key: string): ServiceWithEndpoints | undefined => {
    const reduced = index.get("Service", key);
    if (reduced === undefined || !isDiscovered(reduced.namespace)) return undefined;
    const namespace = index.get("Namespace", reduced.namespace);
    const service = convertService(reduced, namespace, { clusterId, trustDomain, domainSuffix });
    return { service, endpoints: endpointsOf(key, reduced) };
  };
  const refreshSlice = (key: string) => {
    const slice = index.get("EndpointSlice", key);
    const service = slice && index.get("Service", `${slice.namespace}/${slice.service}`);
    if (slice === undefined || service === undefined) return void sliceEndpoints.delete(key);
    const before = sliceEndpoints.get(key) ?? [];
    sliceEndpoints.set(key, reuseEqual(before, convertSlice(slice, service, pods, origin)));
  };
  const nodes = () => [...index.keys("Node")].sort().flatMap((key) => index.get("Node", key) ?? []);
  const refreshGateways = (changed: ReadonlySet<string>, hasOtherNodes: boolean): boolean => {
    let isOther = false;
    for (const key of hasOtherNodes ? new Set([...changed, ...servicesOnNodes]) : changed) {
      const service = index.get("Service", key);
      if (service?.nodePorts === undefined) servicesOnNodes.delete(key);
      else servicesOnNodes.add(key);
      const isShown = service !== undefined && isDiscovered(service.namespace);
      const found = isShown
        ? gatewaysOfService(service, { hostname: hostnameOf(service, domainSuffix), clusterId, networks, nodes })
        : [];
      isOther ||= !isDeepStrictEqual(gateways.get(key) ?? [], found);
      if (found.length === 0) gateways.delete(key);
      else gateways.set(key, found);
    }
    return isOther;
  };
  const update = ({ services, slices, pods: changedPods, hasOtherNodes }: Touched) => {
    const workloads = pods.refresh(changedPods, origin);
    for (const key of slices) refreshSlice(key);
    const wanted = new Map<string, ServiceWithEndpoints | undefined>();
    for (const key of services) wanted.set(modelKey(key), convert(key));
    targetsCache = new WeakMap();
    const hasOtherGateways = refreshGateways(services, hasOtherNodes);
    state.update(wanted, {
      ...(workloads.size > 0 && { workloads: true }),
      ...(hasOtherGateways && { gateways: true }),
    });
    for (const key of services) {
      const reduced = index.get("Service", key);
      const service = state.service(modelKey(key));
      known.set(key, reduced === undefined || service === undefined ? undefined : { reduced, service });
    }
    const namespaces = new Set([...workloads].map((key) => key.slice(0, key.indexOf("/"))));
    if (namespaces.size > 0) for (const listener of [...workloadListeners]) listener(namespaces);
  };
  const modelKey = (key: string) => {
    const [namespace = "", name = ""] = key.split("/");
    const hostname = hostnameOf({ name, namespace }, domainSuffix);
    return serviceKey({ provider: "Kubernetes", clusterId, namespace, name, hostname });
  };
  const everything = (): Touched => ({
    services: new Set([...index.keys("Service"), ...known.keys()]),
    slices: new Set(index.keys("EndpointSlice")),
    pods: new Set(index.keys("Pod")),
    namespaces: new Set(index.keys("Namespace")),
    hasOtherNodes: true,
  });
  /** All of a namespace, when it is looked at otherwise than before. */
  const ofNamespaces = (touched: Touched): Touched => {
    const [services, slices, touchedPods] = [new Set(touched.services), new Set(touched.slices), new Set(touched.pods)];
    for (const namespace of touched.namespaces) {
      for (const key of index.servicesIn(namespace)) services.add(key);
      const isSame = discovered.get(namespace) === isDiscovered(namespace);
      discovered.set(namespace, isDiscovered(namespace));
      if (isSame) continue;
      for (const key of index.podsIn(namespace)) touchedPods.add(key);
      for (const key of index.servicesIn(namespace)) for (const slice of index.slicesOf(key)) slices.add(slice);
    }
    return { ...touched, services, slices, pods: touchedPods };
  };
  const rebuild = () => {
    ownNetwork = labelledNetwork(index, systemNamespace);
    origin = { trustDomain, clusterId, networkOf };
    entries = createEntryWorkloads(store, origin);
    index.takeTouched();
    discovered = new Map([...index.keys("Namespace")].map((name) => [name, isDiscovered(name)]));
    update(everything());
  };
  const commit = () => {
    if (!synced) return;
    if (labelledNetwork(index, systemNamespace) !== ownNetwork) {
      rebuild();
      return options.onNetworks?.();
    }
    update(ofNamespaces(index.takeTouched()));
  };
  const unsubscribe = store.subscribe(({ changes }) => {
    const namespaces = new Set(
      changes.filter(({ kind }) => kind === "WorkloadEntry").map(({ namespace }) => namespace),
    );
    if (namespaces.size === 0 || !synced) return;
    const services = new Set([...namespaces].flatMap((namespace) => [...index.servicesIn(namespace)]));
    const touched = index.takeTouched();
    update(ofNamespaces({ ...touched, services: new Set([...touched.services, ...services]) }));
  });

  const targetsOf = (proxy: ProxyAddresses): readonly ServiceTarget[] => {
    if (proxy.clusterId && proxy.clusterId !== clusterId) return [];
    const { namespace } = proxy;
    const entry = entries.at(proxy);
    if (entry !== undefined) return workloadTargets(entry, known.selecting(namespace, entry.labels), origin);
    const pod = pods.ofProxy(proxy);
    if (pod !== undefined) {
      const cached = targetsCache.get(pod) ?? podTargets(pod, known.selecting(namespace, pod.pod.labels));
      targetsCache.set(pod, cached);
      if (cached.length > 0) return cached;
    }
    const listed = listedTargets(proxy, known.withoutSelector(namespace), state.endpoints);
    if (listed.length > 0 || pod !== undefined) return listed;
    return metadataTargets(proxy, known.selecting(namespace, proxy.labels ?? {}), origin);
  };
  const workloadOf = (proxy: ProxyAddresses): RegisteredWorkload | undefined => {
    if (proxy.clusterId && proxy.clusterId !== clusterId) return undefined;
    const entry = entries.at(proxy);
    // What a WorkloadEntry says is known from the registry of such entries.
    return entry === undefined ? pods.ofProxy(proxy)?.endpoint : undefined;
  };
  const { services, service, endpoints, subscribe } = state;
  return {
    provider: "Kubernetes",
    clusterId,
    get synced() {
      return synced;
    },
    services,
    service,
    endpoints,
    describeEndpoints: (key) => {
      const shown = service(key);
      const reduced = shown && index.get("Service", keyOf(shown));
      if (reduced === undefined) return [];
      return describeEndpoints({
        service: reduced,
        slices: index.slicesOf(keyOf(reduced)).flatMap((slice) => index.get("EndpointSlice", slice) ?? []),
        workloads: entries.of(reduced.namespace),
        pods,
        node: (name) => index.get("Node", name),
        origin,
      });
    },
    objectVersions: ({ kind, ...object }) => {
      const resourceVersion = versions.get(kind, keyOf(object));
      return resourceVersion === undefined ? [] : [{ cluster: clusterId, resourceVersion }];
    },
    subscribe,
    targets: targetsOf,
    workload: workloadOf,
    set: index.set,
    setVersion: versions.set,
    commit,
    markSynced: () => {
      synced = true;
      rebuild();
    },
    setTrustDomain: (wanted) => {
      if (wanted === trustDomain) return;
      trustDomain = wanted;
      if (synced) rebuild();
    },
    setDiscoverySelectors: (selectors) => {
      filter = createNamespaceFilter(selectors);
      if (synced) rebuild();
    },
    setNetworks: (wanted) => {
      networks = wanted;
      if (synced) rebuild();
    },
    networkOf,
    gateways: () => [...gateways.values()].flat(),
    isDiscovered,
    endpointsWithoutPod: () => {
      let count = 0;
      for (const key of index.keys("EndpointSlice")) {
        for (const { pod } of index.get("EndpointSlice", key)?.endpoints ?? []) {
          if (pod !== undefined && pods.named(pod) === undefined) count += 1;
        }
      }
      return count;
    },
    workloads: {
      list: pods.workloads,
      subscribe: (listener) => {
        const own = (namespaces: ReadonlySet<string>) => listener(namespaces);
        workloadListeners.add(own);
        return () => void workloadListeners.delete(own);
      },
    },
    close: unsubscribe,
  };
}

/** Endpoints that are equal stay the values they were, so that others compare by identity. */
function reuseEqual(before: readonly Endpoint[], after: readonly Endpoint[]): readonly Endpoint[] {
  if (before.length === 0) return after;
  const byPlace = new Map(before.map((endpoint) => [placeOf(endpoint), endpoint]));
  return after.map((endpoint) => {
    const known = byPlace.get(placeOf(endpoint));
    return known !== undefined && isDeepStrictEqual(known, endpoint) ? known : endpoint;
  });
}

function placeOf({ addresses, servicePortName }: Endpoint): string {
  return `${addresses[0]} ${servicePortName}`;
}

function labelledNetwork(index: ObjectIndex, systemNamespace: string): string {
  return index.get("Namespace", systemNamespace)?.labels[TOPOLOGY.network] ?? "";
}

/** Ports of services that select nothing: endpoints at the proxy's own address. */
function listedTargets(
  { addresses }: ProxyAddresses,
  services: readonly KnownService[],
  endpointsOf: (key: string) => readonly Endpoint[],
): readonly ServiceTarget[] {
  return services.flatMap(({ service }) =>
    endpointsOf(service.key).flatMap((endpoint) => {
      const port = service.ports.find(({ name }) => name === endpoint.servicePortName);
      if (port === undefined || endpoint.addresses[0] !== addresses[0]) return [];
      return [{ service, port, targetPort: endpoint.port, endpoint }];
    }),
  );
}

/** WorkloadEntries by namespace, each converted once. */
function createEntryWorkloads(store: ConfigStore, origin: PodOrigin) {
  const convert = perValue((object: ConfigObject<"WorkloadEntry">) => toWorkload(object, origin));
  const of = (namespace: string): readonly Workload[] =>
    store.snapshot.list("WorkloadEntry", namespace).map((object) => convert(object));
  return {
    of,
    at: ({ addresses, namespace }: ProxyAddresses) =>
      of(namespace).find(({ entry }) => entry.address !== "" && entry.address === addresses[0]),
  };
}

/**
 * Tells which namespaces the mesh looks at, from the mesh config's `discoverySelectors`: those whose labels some selector matches, all
 * when there are no selectors.
 */
function createNamespaceFilter(discoverySelectors: unknown): (labels: Readonly<Record<string, string>>) => boolean {
  const selectors = listOf(discoverySelectors);
  return (labels) => selectors.length === 0 || selectors.some((selector) => matchesLabelSelector(selector, labels));
}
