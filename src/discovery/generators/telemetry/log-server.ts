import type { OutboundScope } from "../../snapshot/push-snapshot.ts";
import { clusterName } from "../cluster-name.ts";
import type { FindServer } from "./provider-log.ts";

/**
 * Servers of logs are services of the mesh, `host` or `namespace/host`. A proxy refuses a listener that names a cluster it does not have,
 * so that only what the scope shows will do.
 */
export function findLogServer(scope: Pick<OutboundScope, "service">): FindServer {
  return (service, port) => {
    const [namespace, host] = splitService(service);
    const found = scope.service(host);
    if (found === undefined || (namespace !== "" && found.namespace !== namespace)) {
      return `there is no service ${service}, or the workload does not see it`;
    }
    if (scope.service(host, port) === undefined) return `service ${service} has no port ${port}`;
    return { host, cluster: clusterName("outbound", port, "", host) };
  };
}

function splitService(service: string): readonly [namespace: string, host: string] {
  const slash = service.indexOf("/");
  return [service.slice(0, Math.max(slash, 0)), service.slice(slash + 1)];
}
