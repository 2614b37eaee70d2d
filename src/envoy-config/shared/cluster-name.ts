import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";

/** Clusters whose names do not follow from a service. */
export const PASSTHROUGH_CLUSTER = "PassthroughCluster";
/** Looks up the host of each request. */
export const UNKNOWN_HOSTS_CLUSTER = "AllowAnyDynamicDNSCluster";
export const INBOUND_PASSTHROUGH_CLUSTER = "InboundPassthroughCluster";
export const BLACK_HOLE_CLUSTER = "BlackHoleCluster";

type ClusterDirection = "outbound" | "inbound";

interface ClusterName {
  readonly direction: ClusterDirection;
  /** Of the service for outbound clusters, of the workload for inbound ones. */
  readonly port: number;
  /** Empty: all endpoints of the service. */
  readonly subset: string;
  /** Empty for inbound clusters. */
  readonly host: string;
}

/** `outbound|80|v1|web.default.svc.cluster.local`, `inbound|8080||`. */
export function clusterName(direction: ClusterDirection, port: number, subset = "", host = ""): string {
  return `${direction}|${port}|${subset}|${host}`;
}

/**
 * Names of clusters have dots, and so have those of statistics: without its semicolon at the end a sidecar cannot tell where the former ends, and
 * its metrics have no label `cluster_name`.
 */
export function statNamed(name: string): { readonly name: string; readonly altStatName: string } {
  return { name, altStatName: `${name};` };
}

/** Undefined for anything that `clusterName` does not make. */
export function parseClusterName(name: string): ClusterName | undefined {
  const [, direction, port = "", subset = "", host = ""] = NAME.exec(name) ?? [];
  if (direction !== "outbound" && direction !== "inbound") return undefined;
  return { direction, port: Number(port), subset, host };
}

/** The same for what `sniOf` makes: clusters of gateways that pass TLS on are named so. */
export function parseServerName(name: string): ClusterName | undefined {
  const [, direction, port = "", subset = "", host = ""] = SERVER_NAME.exec(name) ?? [];
  if (direction !== "outbound" && direction !== "inbound") return undefined;
  return { direction, port: Number(port), subset, host };
}

/** The server name that a client of the mesh sends: readable by whoever routes TLS without ending it. */
export function sniOf(direction: ClusterDirection, port: number, subset: string, host: string): string {
  return `${direction}_.${port}_.${subset}_.${host}`;
}

/** Ports as numbers are written, so that one cluster has one name. */
const SERVER_NAME = /^(outbound|inbound)_\.(0|[1-9]\d{0,4})_\.([^|]*?)_\.([^|]*)$/;
const NAME = /^(outbound|inbound)\|(0|[1-9]\d{0,4})\|([^|]*)\|([^|]*)$/;

/** Where a provider of the mesh settings is asked: the name of its cluster and the host that calls are made to. */
export interface ProviderServer {
  readonly cluster: string;
  readonly host: string;
  readonly port: number;
}

/**
 * Providers are services of the mesh, `host` or `namespace/host`. Only what the scope shows has a cluster at the proxy; a text says why
 * there is none.
 */
export function findProviderServer(
  scope: Pick<OutboundScope, "service">,
  service: string,
  port: number,
): ProviderServer | string {
  const slash = service.indexOf("/");
  const [namespace, host] = [service.slice(0, Math.max(slash, 0)), service.slice(slash + 1)];
  const found = scope.service(host);
  if (found === undefined || (namespace !== "" && found.namespace !== namespace)) {
    return `there is no service ${service}, or the workload does not see it`;
  }
  if (scope.service(host, port) === undefined) return `service ${service} has no port ${port}`;
  return { host, port, cluster: clusterName("outbound", port, "", host) };
}
