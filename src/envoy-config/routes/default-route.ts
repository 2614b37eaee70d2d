import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { Service } from "../../mesh-model/service.ts";
import type { Route } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { clusterName } from "../cluster-name.ts";
import { buildHashPolicy } from "./hash-policy.ts";
import { buildRetryPolicy } from "./retry-policy.ts";
import type { RouteLookup } from "./route-lookup.ts";

/** Everything to the service, where no rule says otherwise. */
export function buildDefaultRoute(
  service: Service,
  port: number,
  lookup: RouteLookup,
  { defaultRetries }: Pick<MeshSettings, "defaultRetries">,
): Route {
  const hashPolicy = buildHashPolicy(lookup.destinationRule(service), port, "");
  const retryPolicy = buildRetryPolicy(defaultRetries, false);
  return {
    name: "default",
    match: { prefix: "/" },
    route: {
      cluster: clusterName("outbound", port, "", service.hostname),
      timeout: "0s",
      maxGrpcTimeout: "0s",
      ...(retryPolicy && { retryPolicy }),
      ...(hashPolicy && { hashPolicy: [hashPolicy] }),
    },
  };
}
