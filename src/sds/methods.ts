import { defineMethod, type Implementation, implement, rawCodec } from "../grpc/index.ts";
import {
  type DeltaDiscoveryRequest,
  type DiscoveryRequest,
  type DiscoveryResponse,
  deltaDiscoveryRequest,
  discoveryRequest,
  discoveryResponse,
} from "../protobuf/wire/discovery.ts";
import { SDS_SERVICE, SDS_V2_SERVICE } from "../xds/methods.ts";
import { type LegacyContext, legacyFetch, legacyStream } from "./compat/legacy-stream.ts";
import type { SdsContext } from "./sds-context.ts";
import { fetchSecrets, serveSecrets } from "./serve-secrets.ts";

const stream = (service: string) =>
  defineMethod<"bidi", DiscoveryRequest, Uint8Array>({
    path: `/${service}/StreamSecrets`,
    kind: "bidi",
    request: discoveryRequest,
    response: rawCodec,
  });

const fetch = (service: string) =>
  defineMethod<"unary", DiscoveryRequest, Partial<DiscoveryResponse>>({
    path: `/${service}/FetchSecrets`,
    kind: "unary",
    request: discoveryRequest,
    response: discoveryResponse,
  });

const delta = defineMethod<"bidi", DeltaDiscoveryRequest, Uint8Array>({
  path: `/${SDS_SERVICE}/DeltaSecrets`,
  kind: "bidi",
  request: deltaDiscoveryRequest,
  response: rawCodec,
});

/** The methods of the current generations. */
export function sdsMethods(context: SdsContext): readonly Implementation[] {
  return [
    implement(stream(SDS_SERVICE), (requests, call) => serveSecrets(context, "sotw", requests, call)),
    implement(delta, (requests, call) => serveSecrets(context, "delta", requests, call)),
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
