import type { Destination } from "../../istio-api/specs/common.ts";
import type { HttpMatch, HttpRoute, VirtualServiceSpec } from "../../istio-api/specs/virtual-service.ts";
import { resolveShortHost } from "../../istio-api/values/hostname.ts";

/** The gateway name that stands for all sidecars. */
export const MESH_GATEWAY = "mesh";

/** Hosts, destinations and gateways with their full names: short ones mean things beside the rule. */
export function resolveVirtualService(spec: VirtualServiceSpec, namespace: string, domain: string): VirtualServiceSpec {
  const host = (name: string) => resolveShortHost(name, namespace, domain);
  const destination = (to: Destination): Destination => ({ ...to, host: host(to.host) });
  const gateways = (names: readonly string[]) => names.map((name) => gatewayName(name, namespace));
  const l4 = <Route extends VirtualServiceSpec["tls"][number] | VirtualServiceSpec["tcp"][number]>(route: Route) => ({
    ...route,
    match: route.match.map((match) => ({ ...match, gateways: gateways(match.gateways) })),
    route: route.route.map((to) => (to.destination ? { ...to, destination: destination(to.destination) } : to)),
  });
  const match = (of: HttpMatch): HttpMatch => ({ ...of, gateways: gateways(of.gateways) });
  const http = (route: HttpRoute): HttpRoute => ({
    ...route,
    match: route.match.map(match),
    route: route.route.map((to) => (to.destination ? { ...to, destination: destination(to.destination) } : to)),
    ...(route.mirror && { mirror: destination(route.mirror) }),
    mirrors: route.mirrors.map((to) => (to.destination ? { ...to, destination: destination(to.destination) } : to)),
    ...(route.delegate && {
      delegate: { ...route.delegate, namespace: route.delegate.namespace || namespace },
    }),
  });
  return {
    ...spec,
    hosts: spec.hosts.map(host),
    gateways: spec.gateways.length === 0 ? [MESH_GATEWAY] : gateways(spec.gateways),
    http: spec.http.map(http),
    tls: spec.tls.map((route) => l4(route) as VirtualServiceSpec["tls"][number]),
    tcp: spec.tcp.map((route) => l4(route) as VirtualServiceSpec["tcp"][number]),
  };
}

/** `name` and the old `name.namespace.svc...` are spelled `namespace/name`. */
function gatewayName(name: string, namespace: string): string {
  if (name === MESH_GATEWAY) return name;
  if (name.includes("/")) return name;
  const [first = name, second] = name.split(".");
  return `${second ?? namespace}/${first}`;
}
