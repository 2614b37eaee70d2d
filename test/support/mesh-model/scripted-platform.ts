import type { Endpoint, ServiceTarget } from "../../../src/mesh-model/endpoint.ts";
import { compareServices, type Service } from "../../../src/mesh-model/service.ts";
import type {
  ProxyAddresses,
  RegisteredWorkload,
  RegistryListener,
  ServiceRegistry,
} from "../../../src/mesh-model/service-registry.ts";

/** What a platform knows. */
export interface PlatformState {
  readonly services: readonly { readonly service: Service; readonly endpoints: readonly Endpoint[] }[];
  /** By address. */
  readonly workloads: ReadonlyMap<string, RegisteredWorkload>;
}

/** A registry whose services, endpoints and workloads the test sets. What stays the same value is not reported. */
export interface ScriptedPlatform extends ServiceRegistry {
  set(state: PlatformState): void;
}

export function createScriptedPlatform(initial: PlatformState): ScriptedPlatform {
  let state = initial;
  const listeners = new Set<RegistryListener>();
  const find = (of: PlatformState, key: string) => of.services.find(({ service }) => service.key === key);
  return {
    provider: "Kubernetes",
    clusterId: "Kubernetes",
    synced: true,
    services: () => state.services.map(({ service }) => service).sort(compareServices),
    service: (key) => find(state, key)?.service,
    endpoints: (key) => find(state, key)?.endpoints ?? [],
    targets: (proxy) => targetsOf(state, proxy),
    workload: ({ addresses }) => addresses.map((address) => state.workloads.get(address)).find(Boolean),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    set: (next) => {
      const before = state;
      state = next;
      const keys = next.services.map(({ service }) => service.key);
      const updated = keys.filter((key) => find(before, key)?.service !== find(next, key)?.service);
      const endpoints = keys.filter((key) => find(before, key)?.endpoints !== find(next, key)?.endpoints);
      const deleted = before.services.map(({ service }) => service.key).filter((key) => !keys.includes(key));
      for (const listener of listeners) {
        listener({ updated, deleted, endpoints: endpoints.filter((key) => !updated.includes(key)), workloads: true });
      }
    },
  };
}

function targetsOf({ services }: PlatformState, { addresses, namespace }: ProxyAddresses): readonly ServiceTarget[] {
  return services.flatMap(({ service, endpoints }) =>
    endpoints.flatMap((endpoint): readonly ServiceTarget[] => {
      const port = service.ports.find(({ name }) => name === endpoint.servicePortName);
      const isOwn = service.namespace === namespace && endpoint.addresses.some((one) => addresses.includes(one));
      return isOwn && port !== undefined ? [{ service, port, targetPort: endpoint.port, endpoint }] : [];
    }),
  );
}
