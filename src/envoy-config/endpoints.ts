import { formatLocality } from "../mesh-model/locality.ts";
import type { OutboundScope } from "../mesh-model/push-snapshot.ts";
import { findPort, type Service } from "../mesh-model/service.ts";
import type { ClusterLoadAssignment } from "../protobuf/gen/envoy/config/endpoint/v3.ts";
import { parseClusterName, parseServerName } from "./cluster-name.ts";
import { failoverValues } from "./endpoints/failover.ts";
import { type AssignmentTarget, loadAssignment } from "./endpoints/load-assignment.ts";
import { localitySetting } from "./endpoints/locality-setting.ts";
import { effectivePolicy } from "./traffic-policy.ts";

/** The endpoints of one outbound cluster. A name that nothing is known of has none: a proxy that asks must get an answer. */
export function generateEndpoints(scope: OutboundScope, clusterName: string): ClusterLoadAssignment {
  const target = targetOf(scope, clusterName);
  return target === undefined ? { clusterName } : loadAssignment(scope, target);
}

/** Everything that the result follows from besides the name; when all values are the same ones (===), so is the result. */
export function endpointInputs(scope: OutboundScope, clusterName: string): readonly unknown[] {
  const target = targetOf(scope, clusterName);
  return target === undefined ? [] : assignmentInputs(scope, target);
}

/** For clusters that carry their endpoints with them as well. */
export function assignmentInputs(
  scope: OutboundScope,
  { service, port, subset }: Omit<AssignmentTarget, "name">,
): readonly unknown[] {
  const { snapshot, mesh, traits } = scope;
  const rule = scope.destinationRule(service);
  const defaults = service.resolution === "ClientSideLB" ? undefined : mesh.defaultTrafficPolicy;
  const setting = localitySetting(mesh, effectivePolicy(rule, port.port, subset, defaults), service);
  // Places matter only where something is made of them, so that proxies of different places share the rest.
  const isPlaced = setting !== undefined && (setting.distribute.length > 0 || setting.hasPriorities);
  const place = isPlaced
    ? [formatLocality(traits.locality), ...failoverValues(traits, setting.failoverPriority)].join("\0")
    : "";
  return [
    service,
    snapshot.endpoints(service.key),
    rule,
    mesh,
    place,
    traits.networkView.join(),
    mesh.clusterLocalHosts.length > 0 ? traits.clusterId : "",
    traits.ipv4,
    traits.ipv6,
    traits.generator,
    mtlsKey(scope, service),
  ];
}

/** Which endpoints' own policies switch mutual TLS off; a text, because policies may change without changing this. */
function mtlsKey(scope: OutboundScope, service: Service): string {
  if (scope.snapshot.configs.list("PeerAuthentication").length === 0) return "";
  const off = scope.snapshot
    .endpoints(service.key)
    .flatMap((endpoint, index) =>
      endpoint.tlsMode === "istio" && scope.endpointMtls(endpoint) === "DISABLE" ? [index] : [],
    );
  return off.join();
}

/** Several objects may share the ports of one host among them. */
function targetOf(scope: OutboundScope, name: string): AssignmentTarget | undefined {
  const parsed = parseClusterName(name) ?? parseServerName(name);
  if (parsed?.direction !== "outbound") return undefined;
  const { host, port: number, subset } = parsed;
  const first = scope.service(host);
  if (first === undefined) return undefined;
  const candidates = findPort(first, number) ? [first] : scope.services.filter(({ hostname }) => hostname === host);
  for (const service of candidates) {
    const port = findPort(service, number);
    if (port !== undefined) return { name, service, port, subset, onlyMtls: parseServerName(name) !== undefined };
  }
  return undefined;
}
