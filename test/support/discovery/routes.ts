import type { OutboundScope } from "../../../src/mesh-model/push-snapshot.ts";
import type { Route, RouteConfiguration, VirtualHost } from "../../../src/protobuf/gen/envoy/config/route/v3.ts";
import { viewOfCase } from "../mesh-model/view-of-case.ts";

/** Rule objects of the namespace `default`, for tests of what proxies are sent about others. */
export function httpService(name: string, spec: object = {}, namespace = "default"): object {
  return object("ServiceEntry", name, namespace, {
    hosts: [`${name}.${namespace}.svc.cluster.local`],
    location: "MESH_INTERNAL",
    resolution: "STATIC",
    ports: [{ number: 8080, name: "http", protocol: "HTTP" }],
    endpoints: [{ address: "10.10.0.1", serviceAccount: name }],
    ...spec,
  });
}

export function virtualService(name: string, spec: object, namespace = "default"): object {
  return object("VirtualService", name, namespace, { hosts: [name], ...spec });
}

export function destinationRule(name: string, spec: object, namespace = "default"): object {
  return object("DestinationRule", name, namespace, { host: name, ...spec });
}

export function sidecar(name: string, spec: object, namespace = "default"): object {
  return object("Sidecar", name, namespace, spec);
}

function object(kind: string, name: string, namespace: string, spec: object): object {
  return { apiVersion: "networking.istio.io/v1", kind, metadata: { name, namespace }, spec };
}

export interface ScopeOptions {
  readonly mesh?: object;
  readonly metadata?: object;
  readonly namespace?: string;
}

/** What a sidecar sees of a mesh of these objects; they are checked as the user's would be. */
export function scopeOf(objects: readonly object[], options: ScopeOptions = {}): OutboundScope {
  const { namespace = "default" } = options;
  // JSON is YAML.
  const documents = objects.map((entry) => JSON.stringify(entry)).join("\n---\n");
  return viewOfCase(documents, options.mesh && JSON.stringify(options.mesh), {
    id: `sidecar~10.10.9.9~client.${namespace}~${namespace}.svc.cluster.local`,
    metadata: { NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", LABELS: { app: "client" }, ...options.metadata },
  }).outbound;
}

export function hostNamed(config: RouteConfiguration, name: string): VirtualHost {
  const host = config.virtualHosts?.find((candidate) => candidate.name === name);
  if (host === undefined) throw new Error(`no ${name} among ${hostNames(config).join(", ")}`);
  return host;
}

export function hostNames(config: RouteConfiguration): readonly string[] {
  return config.virtualHosts?.map(({ name = "" }) => name) ?? [];
}

export function routesOf(config: RouteConfiguration, host: string): readonly Route[] {
  return hostNamed(config, host).routes ?? [];
}
