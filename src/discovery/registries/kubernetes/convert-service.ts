import { deepFreeze } from "../../../base/deep-freeze.ts";
import { type Service, serviceKey } from "../../../mesh-model/service.ts";
import { formatSpiffe } from "../../../mesh-model/workload-identity.ts";
import type { EndpointOrigin } from "../convert-workload.ts";
import type { ReducedNamespace } from "./reduce-object.ts";
import type { ReducedService } from "./reduce-service.ts";

export interface ServiceOrigin extends EndpointOrigin {
  readonly domainSuffix: string;
}

export function hostnameOf(
  { name, namespace }: Pick<ReducedService, "name" | "namespace">,
  domainSuffix: string,
): string {
  return `${name}.${namespace}.svc.${domainSuffix}`;
}

/** A Service as the mesh sees it. An ExternalName is an alias: it has neither address nor endpoints of its own. */
export function convertService(
  reduced: ReducedService,
  namespace: ReducedNamespace | undefined,
  { clusterId, trustDomain, domainSuffix }: ServiceOrigin,
): Service {
  const { name, externalName } = reduced;
  const hostname = hostnameOf(reduced, domainSuffix);
  const identity = { provider: "Kubernetes", clusterId, namespace: reduced.namespace, name, hostname } as const;
  const distribution = reduced.trafficDistribution ?? namespace?.trafficDistribution ?? "Any";
  const accounts = reduced.accounts.map((serviceAccount) =>
    formatSpiffe({ trustDomain, namespace: reduced.namespace, serviceAccount }),
  );
  return deepFreeze({
    ...identity,
    key: serviceKey(identity),
    ports: reduced.ports.map(({ name: portName, port, protocol }) => ({ name: portName, port, protocol })),
    addresses: externalName === "" ? reduced.clusterIps : [],
    resolution: resolutionOf(reduced),
    meshExternal: externalName !== "",
    subjectAltNames: [...reduced.canonicalAccounts, ...accounts],
    creationTime: reduced.creationTime,
    labels: reduced.labels,
    exportTo: reduced.exportTo,
    ...(Object.keys(reduced.selector).length > 0 && { selector: reduced.selector }),
    ...(reduced.publishNotReady && { publishNotReady: true }),
    ...(externalName !== "" && { externalName }),
    ...(distribution !== "Any" && { trafficDistribution: distribution }),
    ...(reduced.isNodeLocal && { nodeLocal: true }),
    ...(reduced.externalAddresses.length > 0 && { externalAddresses: reduced.externalAddresses }),
  });
}

function resolutionOf({ externalName, isHeadless }: ReducedService): Service["resolution"] {
  if (externalName !== "") return "Alias";
  return isHeadless ? "Passthrough" : "ClientSideLB";
}
