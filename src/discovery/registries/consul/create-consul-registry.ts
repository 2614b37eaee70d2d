import type { Logger } from "../../../base/logger.ts";
import type { ConsulInstance } from "../../../consul/index.ts";
import type { ServiceRegistry } from "../../../mesh-model/service-registry.ts";
import type { EndpointOrigin } from "../convert-workload.ts";
import { createRegistryState, type ServiceWithEndpoints } from "../registry-state.ts";
import { convertConsulService } from "./convert-consul.ts";

export interface ConsulRegistryOptions extends EndpointOrigin {
  readonly log: Logger;
  /** Whether every datacenter has been read once. */
  isSynced(): boolean;
}

export interface ConsulRegistry extends ServiceRegistry {
  /** Changed services of one datacenter, by name; an empty list takes the datacenter's instances away. */
  apply(datacenter: string, changed: ReadonlyMap<string, readonly ConsulInstance[]>): void;
  setTrustDomain(trustDomain: string): void;
}

/** Services of Consul's catalog. Instances of several datacenters are one service, their datacenter is the region. */
export function createConsulRegistry({ log, isSynced, ...origin }: ConsulRegistryOptions): ConsulRegistry {
  const state = createRegistryState();
  /** By name, then by datacenter. */
  const instances = new Map<string, Map<string, readonly ConsulInstance[]>>();
  const converted = new Map<string, ServiceWithEndpoints>();
  const warned = new Set<string>();
  let endpointOrigin: EndpointOrigin = origin;
  const instancesOf = (name: string) =>
    [...(instances.get(name) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, list]) => list);
  const convert = (name: string) => {
    const result = convertConsulService(name, instancesOf(name), endpointOrigin);
    if (result === undefined) {
      converted.delete(name);
      return;
    }
    for (const warning of result.warnings) {
      const line = `${name}: ${warning}`;
      if (!warned.has(line)) log.warn("Consul service", { name, warning });
      warned.add(line);
    }
    const { service, endpoints } = result;
    converted.set(name, { service, endpoints });
  };
  const publish = () => void state.replace([...converted.values()]);
  const { services, service, endpoints, targets, subscribe } = state;
  return {
    provider: "Consul",
    clusterId: origin.clusterId,
    get synced() {
      return isSynced();
    },
    services,
    service,
    endpoints,
    describeEndpoints: (key) => {
      const { name, namespace } = service(key) ?? { name: "", namespace: "" };
      return instancesOf(name).flatMap(({ id, datacenter }, index) => {
        const endpoint = converted.get(name)?.endpoints[index];
        const object = { kind: "Consul instance", namespace, name: id, cluster: datacenter };
        return endpoint === undefined ? [] : [{ endpoint, objects: [object] }];
      });
    },
    targets,
    subscribe,
    apply: (datacenter, changed) => {
      for (const [name, list] of changed) {
        const own = instances.get(name) ?? new Map<string, readonly ConsulInstance[]>();
        if (list.length === 0) own.delete(datacenter);
        else own.set(datacenter, list);
        if (own.size === 0) instances.delete(name);
        else instances.set(name, own);
        convert(name);
      }
      publish();
    },
    setTrustDomain: (trustDomain) => {
      if (trustDomain === endpointOrigin.trustDomain) return;
      endpointOrigin = { ...endpointOrigin, trustDomain };
      for (const name of instances.keys()) convert(name);
      publish();
    },
  };
}
