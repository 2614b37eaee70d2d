import type { OutboundScope, ProxyView } from "../mesh-model/push-snapshot.ts";
import type { RouteConfiguration } from "../protobuf/gen/envoy/config/route/v3.ts";
import type { EncodedResource } from "../xds/resource-source.ts";
import type { XdsType } from "../xds/xds-types.ts";
import { encodeResource } from "./encoded-resource.ts";
import { generateGrpcClusters } from "./grpc/clusters.ts";
import { generateGrpcListeners } from "./grpc/listeners.ts";
import type { ResourceGuard } from "./resource-problems.ts";
import { httpPorts, listenerIndex } from "./routes/rule-index.ts";
import { serviceHost } from "./routes/virtual-host.ts";
import type { FailedObject } from "./shared/attempt.ts";
import { parseClusterName } from "./shared/cluster-name.ts";

/** Node metadata of programs that speak xDS themselves. */
export const GRPC_GENERATOR = "grpc";

interface GrpcEncoding {
  readonly guard: ResourceGuard;
  readonly encodeRoute: (route: RouteConfiguration) => EncodedResource;
}

/** What a proxyless client or server asks for, encoded. Types that it does not know have no resources. */
export function grpcResources(
  view: ProxyView,
  type: Exclude<XdsType, "EDS">,
  names: readonly string[],
  { guard, encodeRoute }: GrpcEncoding,
): readonly EncodedResource[] {
  const report = {
    failed: (resource: string, policy: FailedObject) =>
      guard.report({ effect: "refused-rule", type, resource, ...policy }),
    notThere: (resource: string, reason: string) => guard.report({ effect: "not-there", type, resource, reason }),
  };
  switch (type) {
    case "LDS":
      return guard.each("LDS", generateGrpcListeners(view, names, report), nameOf, (listener) =>
        encodeResource("envoy.config.listener.v3.Listener", nameOf(listener), listener),
      );
    case "CDS":
      return guard.each("CDS", generateGrpcClusters(view.outbound, names), nameOf, (cluster) =>
        encodeResource("envoy.config.cluster.v3.Cluster", nameOf(cluster), cluster),
      );
    case "RDS":
      return guard.each("RDS", names, String, (name) => encodeRoute(generateGrpcRoute(view.outbound, name)));
    default:
      return [];
  }
}

function nameOf({ name = "" }: { readonly name?: string | undefined }): string {
  return name;
}

/** Routes to one port of one host, by the name that the client's listener carries; none for a host that is not there. */
export function generateGrpcRoute(scope: OutboundScope, name: string): RouteConfiguration {
  const { port, host, subset } = parseClusterName(name) ?? {};
  const service = scope.services.find((own) => own.hostname === host && httpPorts(own).includes(port ?? 0));
  if (service === undefined || port === undefined || subset !== "") return { name };
  const shown = scope.egress.map(listenerIndex).find((index) => index.servicesOn(port).some(isHost(service.hostname)));
  const rules = shown?.rulesFor(service.hostname) ?? [];
  return { name, virtualHosts: [serviceHost(service, rules, { scope, port, form: "both" })] };
}

function isHost(host: string) {
  return ({ hostname }: { readonly hostname: string }) => hostname === host;
}
