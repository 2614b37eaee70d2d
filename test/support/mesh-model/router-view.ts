import { generateGatewayListeners } from "../../../src/envoy-config/gateway/gateway-listeners.ts";
import { generateGatewayRoute } from "../../../src/envoy-config/gateway/gateway-routes.ts";
import type { Listener } from "../../../src/protobuf/gen/envoy/config/listener/v3.ts";
import type { HttpConnectionManager } from "../../../src/protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { viewOfCase } from "./view-of-case.ts";

/** Routers and what they are sent, as JSON documents. */
export type Json = Readonly<Record<string, unknown>>;

export const object = (kind: string, name: string, spec: Json, namespace = "default", api = "networking.istio.io/v1") =>
  JSON.stringify({ apiVersion: api, kind, metadata: { name, namespace }, spec });

const service = (name: string, ports: readonly (readonly [number, string])[], more: Json = {}) =>
  object("ServiceEntry", name, {
    hosts: [`${name}.default.svc.cluster.local`],
    location: "MESH_INTERNAL",
    resolution: "STATIC",
    ports: ports.map(([number, protocol]) => ({ number, name: `p${number}`, protocol })),
    endpoints: [{ address: "10.10.0.1", serviceAccount: name }],
    ...more,
  });

export const SERVICES = [
  service("web", [[80, "HTTP"]]),
  service("db", [[9000, "TCP"]]),
  service("tls", [[443, "TLS"]]),
];
export const WEB = "outbound|80||web.default.svc.cluster.local";
export const DB = "outbound|9000||db.default.svc.cluster.local";

export const gateway = (servers: readonly Json[], name = "edge", more: Json = {}) =>
  object("Gateway", name, { selector: { app: "edge" }, servers, ...more });
export const server = (number: number, protocol: string, hosts: readonly string[], more: Json = {}) => ({
  port: { number, name: `${protocol.toLowerCase()}-${number}`, protocol },
  hosts,
  ...more,
});
export const rule = (name: string, hosts: readonly string[], spec: Json, namespace = "default") =>
  object("VirtualService", name, { hosts, gateways: ["default/edge"], ...spec }, namespace);
export const toWeb = { http: [{ route: [{ destination: { host: "web.default.svc.cluster.local" } }] }] };
export const at = (prefix: string) => ({
  http: [{ match: [{ uri: { prefix } }], route: [{ destination: { host: "web.default.svc.cluster.local" } }] }],
});

/** What a router sees that these Gateways are for. */
export function scopeOf(objects: readonly string[], metadata: Json = {}, mesh?: string) {
  const node = {
    id: "router~10.10.9.1~edge-0.default~default.svc.cluster.local",
    metadata: { NAMESPACE: "default", INSTANCE_IPS: "10.10.9.1", LABELS: { app: "edge", other: "1" }, ...metadata },
  };
  return viewOfCase([...SERVICES, ...objects].join("\n---\n"), mesh, node);
}

export const listenersOf = (...objects: readonly string[]) => generateGatewayListeners(scopeOf(objects).outbound);
export const merged = (listeners: readonly Listener[]) => listeners.map(({ name }) => name);
export const filter = (listener: Listener | undefined, chain = 0) =>
  listener?.filterChains?.[chain]?.filters?.at(-1)?.typedConfig;
export const manager = (listener: Listener | undefined, chain = 0) => filter(listener, chain) as HttpConnectionManager;
export const namesOf = (listener: Listener | undefined) =>
  listener?.filterChains?.map(({ filterChainMatch }) => filterChainMatch?.serverNames ?? []);

/** Prefixes of the routes of each virtual host. */
export function hostsOf(name: string, ...objects: readonly string[]) {
  const { virtualHosts = [] } = generateGatewayRoute(scopeOf(objects).outbound, name);
  return Object.fromEntries(
    virtualHosts.map(({ name: host = "", routes = [], requireTls }) => [
      host,
      [...routes.map(({ match }) => match?.prefix ?? ""), ...(requireTls === undefined ? [] : [requireTls])],
    ]),
  );
}
