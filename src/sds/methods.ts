import { defineMethod, type Implementation, implement } from "../grpc/index.ts";
import {
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  type DiscoveryRequest,
  type DiscoveryResponse,
  deltaDiscoveryRequest,
  deltaDiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
} from "../protobuf/wire/discovery.ts";
import { SDS_SERVICE, SDS_V2_SERVICE } from "../xds/methods.ts";
import { deltaSecrets } from "./delta-secrets.ts";
import { fetchSecrets } from "./fetch-secrets.ts";
import { type LegacyContext, legacyFetch, legacyStream } from "./legacy/legacy-stream.ts";
import type { SdsContext } from "./sds-context.ts";
import { streamSecrets } from "./stream-secrets.ts";

const stream = (service: string) =>
  defineMethod<"bidi", DiscoveryRequest, Partial<DiscoveryResponse>>({
    path: `/${service}/StreamSecrets`,
    kind: "bidi",
    request: discoveryRequest,
    response: discoveryResponse,
  });

const fetch = (service: string) =>
  defineMethod<"unary", DiscoveryRequest, Partial<DiscoveryResponse>>({
    path: `/${service}/FetchSecrets`,
    kind: "unary",
    request: discoveryRequest,
    response: discoveryResponse,
  });

const delta = defineMethod<"bidi", DeltaDiscoveryRequest, Partial<DeltaDiscoveryResponse>>({
  path: `/${SDS_SERVICE}/DeltaSecrets`,
  kind: "bidi",
  request: deltaDiscoveryRequest,
  response: deltaDiscoveryResponse,
});

/** The methods of the current generations. */
export function sdsMethods(context: SdsContext): readonly Implementation[] {
  return [
    implement(stream(SDS_SERVICE), (requests, call) => streamSecrets(context, requests, call)),
    implement(delta, (requests, call) => deltaSecrets(context, requests, call)),
    implement(fetch(SDS_SERVICE), (request, call) => fetchSecrets(context, request, call)),
  ];
}

/** The methods of releases 1.7 and 1.8: both API versions, no incremental one. */
export function legacyMethods(context: LegacyContext): readonly Implementation[] {
  return [SDS_SERVICE, SDS_V2_SERVICE].flatMap((service) => [
    implement(stream(service), (requests, call) => legacyStream(context, requests, call)),
    implement(fetch(service), (request, call) => legacyFetch(context, request, call)),
  ]);
}
