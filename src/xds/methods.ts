import { defineMethod } from "../grpc/index.ts";
import {
  type DiscoveryRequest,
  type DiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
} from "../protobuf/wire/discovery.ts";

/** State of the world or incremental: the two protocols of xDS. */
export type XdsProtocol = "sotw" | "delta";

export const ADS_SERVICE = "envoy.service.discovery.v3.AggregatedDiscoveryService";
export const SDS_SERVICE = "envoy.service.secret.v3.SecretDiscoveryService";
/** The retired name, which releases 1.7 and 1.8 serve as well. */
export const SDS_V2_SERVICE = "envoy.service.discovery.v2.SecretDiscoveryService";

export const ADS_PATHS: Readonly<Record<XdsProtocol, string>> = {
  sotw: `/${ADS_SERVICE}/StreamAggregatedResources`,
  delta: `/${ADS_SERVICE}/DeltaAggregatedResources`,
};

/** ADS for clients that read whole responses. */
export const streamAggregatedResources = defineMethod<"bidi", Partial<DiscoveryRequest>, DiscoveryResponse>({
  path: ADS_PATHS.sotw,
  kind: "bidi",
  request: discoveryRequest,
  response: discoveryResponse,
});
