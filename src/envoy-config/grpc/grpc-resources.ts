import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import type { RouteConfiguration } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { EncodedResource } from "../../xds/resource-source.ts";
import type { XdsType } from "../../xds/xds-types.ts";
import { encodeResource } from "../encode-resource.ts";
import type { ResourceGuard } from "../resource-guard.ts";
import { generateGrpcClusters } from "./clusters.ts";
import { generateGrpcListeners } from "./listeners.ts";
import { generateGrpcRoute } from "./route.ts";

/** Node metadata of programs that speak xDS themselves. */
export const GRPC_GENERATOR = "grpc";

export interface GrpcEncoding {
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
  switch (type) {
    case "LDS":
      return guard.each("LDS", generateGrpcListeners(view, names), nameOf, (listener) =>
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
