import type { OutboundScope } from "../mesh-model/push-snapshot.ts";
import { clusterName } from "./cluster-name.ts";

/** Where a provider of the mesh settings is asked: the name of its cluster and the host that calls are made to. */
export interface ProviderServer {
  readonly cluster: string;
  readonly host: string;
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
  return { host, cluster: clusterName("outbound", port, "", host) };
}
