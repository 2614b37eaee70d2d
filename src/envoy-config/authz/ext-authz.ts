import { compareText } from "../../istio-api/config-object.ts";
import type { GrpcService } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type {
  AuthorizationResponse,
  ExtAuthz as HttpExtAuthz,
  HttpService,
} from "../../protobuf/gen/envoy/extensions/filters/http/ext_authz/v3.ts";
import type { ExtAuthz as NetworkExtAuthz } from "../../protobuf/gen/envoy/extensions/filters/network/ext_authz/v3.ts";
import type { ListStringMatcher, MetadataMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";
import type { ProviderServer } from "../provider-server.ts";
import {
  type AccessProvider,
  type HttpProviderSettings,
  type ProviderSettings,
  statusName,
} from "./provider-settings.ts";
import { matchText } from "./value-match.ts";

/** Envoy leaves the key of the policy that matched under this name, for the filter behind it. */
export const SHADOW_PREFIX = "istio_ext_authz_";
const MATCHED_POLICY = `${SHADOW_PREFIX}shadow_effective_policy_id`;
const DEFAULT_TIMEOUT = "600s";

/** Keys of policies by which a provider is asked begin with this. */
export function askedPrefix(provider: string): string {
  return `istio-ext-authz-${provider}`;
}

/** Asks the provider about requests that one of its policies matched. */
export function httpExtAuthz(name: string, provider: AccessProvider, server: ProviderServer): HttpExtAuthz {
  const { failOpen, clearRouteCache, statusOnError = "", includeRequestBodyInCheck: body } = provider.settings;
  const code = statusOnError === "" ? undefined : statusName(Number(statusOnError));
  return {
    ...(provider.protocol === "grpc"
      ? { grpcService: grpcService(provider.settings, server) }
      : httpService(provider.settings, server)),
    transportApiVersion: "V3",
    ...(failOpen && { failureModeAllow: true }),
    ...(clearRouteCache && { clearRouteCache: true }),
    ...(code !== undefined && { statusOnError: { code } }),
    ...(body !== undefined && { withRequestBody: body }),
    filterEnabledMetadata: isAsked(name, "envoy.filters.http.rbac"),
  };
}

/** The same for connections. Undefined: a provider that speaks HTTP knows nothing of them. */
export function networkExtAuthz(
  name: string,
  provider: AccessProvider,
  server: ProviderServer,
): NetworkExtAuthz | undefined {
  if (provider.protocol === "http") return undefined;
  return {
    statPrefix: "tcp.",
    grpcService: grpcService(provider.settings, server),
    ...(provider.settings.failOpen && { failureModeAllow: true }),
    transportApiVersion: "V3",
    filterEnabledMetadata: isAsked(name, "envoy.filters.network.rbac"),
  };
}

function isAsked(name: string, filter: string): MetadataMatcher {
  return { filter, path: [{ key: MATCHED_POLICY }], value: { stringMatch: { prefix: askedPrefix(name) } } };
}

function grpcService({ timeout = DEFAULT_TIMEOUT }: ProviderSettings, { cluster, host }: ProviderServer): GrpcService {
  return { envoyGrpc: { clusterName: cluster, authority: host }, timeout };
}

function httpService(
  settings: HttpProviderSettings,
  { cluster, host }: ProviderServer,
): Pick<HttpExtAuthz, "httpService" | "allowedHeaders"> {
  const { timeout = DEFAULT_TIMEOUT, pathPrefix = "", includeAdditionalHeadersInCheck: added = {} } = settings;
  const { includeRequestHeadersInCheck = [], includeHeadersInCheck = [] } = settings;
  // The older spelling counts where the newer one is absent.
  const sent = includeRequestHeadersInCheck.length > 0 ? includeRequestHeadersInCheck : includeHeadersInCheck;
  const headersToAdd = Object.entries(added)
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, value]) => ({ key, value }));
  const authorizationResponse = responseHeaders(settings);
  const service: HttpService = {
    serverUri: { uri: `http://${host}`, cluster, timeout },
    ...(pathPrefix !== "" && { pathPrefix }),
    ...(headersToAdd.length > 0 && { authorizationRequest: { headersToAdd } }),
    ...(Object.keys(authorizationResponse).length > 0 && { authorizationResponse }),
  };
  return { httpService: service, ...(sent.length > 0 && { allowedHeaders: headerList(sent) }) };
}

function responseHeaders(settings: HttpProviderSettings): AuthorizationResponse {
  const { headersToUpstreamOnAllow = [], headersToDownstreamOnDeny = [], headersToDownstreamOnAllow = [] } = settings;
  return {
    ...(headersToUpstreamOnAllow.length > 0 && { allowedUpstreamHeaders: headerList(headersToUpstreamOnAllow) }),
    ...(headersToDownstreamOnDeny.length > 0 && { allowedClientHeaders: headerList(headersToDownstreamOnDeny) }),
    ...(headersToDownstreamOnAllow.length > 0 && {
      allowedClientHeadersOnSuccess: headerList(headersToDownstreamOnAllow),
    }),
  };
}

function headerList(names: readonly string[]): ListStringMatcher {
  return { patterns: names.map((name) => ({ ...matchText(name), ignoreCase: true })) };
}
