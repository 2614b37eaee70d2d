import { compareText } from "../../istio-api/config-object.ts";
import { extensionProviderProblems } from "../../istio-api/mesh-config/extension-provider-problems.ts";
import type { ExtensionProvider } from "../../istio-api/mesh-config/mesh-config.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import { enumTable } from "../../protobuf/envoy/index.ts";
import type { GrpcService } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type {
  AuthorizationResponse,
  ExtAuthz as HttpExtAuthz,
  HttpService,
} from "../../protobuf/gen/envoy/extensions/filters/http/ext_authz/v3.ts";
import type { ExtAuthz as NetworkExtAuthz } from "../../protobuf/gen/envoy/extensions/filters/network/ext_authz/v3.ts";
import type { ListStringMatcher, MetadataMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";
import type { StatusCode } from "../../protobuf/gen/envoy/type/v3.ts";
import type { ProviderServer } from "../shared/cluster-name.ts";
import { matchText } from "./clause.ts";

/** Envoy leaves the key of the policy that matched under this name, for the filter behind it. */
export const SHADOW_PREFIX = "istio_ext_authz_";
const MATCHED_POLICY = `${SHADOW_PREFIX}shadow_effective_policy_id`;
const DEFAULT_TIMEOUT = "600s";

/** Keys of policies by which a provider is asked begin with this. */
export function askedPrefix(provider: string): string {
  return `istio-ext-authz-${provider}`;
}

export interface AskedProvider {
  readonly provider: AccessProvider;
  readonly server: ProviderServer;
  /** What the key of a policy begins with by which it is asked. */
  readonly noted: string;
}

/** Asks the provider about requests that one of its policies matched. */
export function httpExtAuthz({ provider, server, noted }: AskedProvider): HttpExtAuthz {
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
    filterEnabledMetadata: isAsked(noted, "envoy.filters.http.rbac"),
  };
}

/** The same for connections. Undefined: a provider that speaks HTTP knows nothing of them. */
export function networkExtAuthz({ provider, server, noted }: AskedProvider): NetworkExtAuthz | undefined {
  if (provider.protocol === "http") return undefined;
  return {
    statPrefix: "tcp.",
    grpcService: grpcService(provider.settings, server),
    ...(provider.settings.failOpen && { failureModeAllow: true }),
    transportApiVersion: "V3",
    filterEnabledMetadata: isAsked(noted, "envoy.filters.network.rbac"),
  };
}

function isAsked(prefix: string, filter: string): MetadataMatcher {
  return { filter, path: [{ key: MATCHED_POLICY }], value: { stringMatch: { prefix } } };
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

/** What providers of both protocols say. */
interface ProviderSettings {
  readonly service?: string;
  readonly port?: number;
  readonly timeout?: string;
  readonly failOpen?: boolean;
  readonly statusOnError?: string;
  readonly clearRouteCache?: boolean;
  readonly includeRequestBodyInCheck?: {
    readonly maxRequestBytes?: number;
    readonly allowPartialMessage?: boolean;
    readonly packAsBytes?: boolean;
  };
}

interface HttpProviderSettings extends ProviderSettings {
  readonly pathPrefix?: string;
  readonly includeHeadersInCheck?: readonly string[];
  readonly includeRequestHeadersInCheck?: readonly string[];
  readonly includeAdditionalHeadersInCheck?: Readonly<Record<string, string>>;
  readonly headersToUpstreamOnAllow?: readonly string[];
  readonly headersToDownstreamOnDeny?: readonly string[];
  readonly headersToDownstreamOnAllow?: readonly string[];
}

/** A provider that decides who may call. */
export type AccessProvider =
  | { readonly protocol: "http"; readonly settings: HttpProviderSettings }
  | { readonly protocol: "grpc"; readonly settings: ProviderSettings };

/** The provider of the name, checked as far as it can be without knowing any service. A text: it cannot be used, and why. */
export function findAccessProvider({ source }: MeshSettings, name: string): AccessProvider | string {
  const provider = accessProviders(source).find((candidate) => candidate.name === name);
  if (provider === undefined) return "the mesh has no such provider of authorization";
  if (!NAME.test(name)) return "its name is not made of at most 63 lower case letters, digits and inner hyphens";
  const { envoyExtAuthzHttp, envoyExtAuthzGrpc = {} } = provider;
  const [problem] = [
    ...extensionProviderProblems({ extensionProviders: [provider] }),
    ...settingsProblems(envoyExtAuthzHttp ?? envoyExtAuthzGrpc),
  ];
  if (problem !== undefined) return problem;
  return envoyExtAuthzHttp === undefined
    ? { protocol: "grpc", settings: envoyExtAuthzGrpc }
    : { protocol: "http", settings: envoyExtAuthzHttp };
}

/** Undefined: Envoy knows no such status. */
function statusName(code: number): StatusCode | undefined {
  // Zero has a name as well, for "not set", which Envoy refuses.
  return code === 0 ? undefined : (enumTable("envoy.type.v3.StatusCode").names.get(code) as StatusCode | undefined);
}

type Provider = ExtensionProvider & {
  readonly envoyExtAuthzHttp?: HttpProviderSettings;
  readonly envoyExtAuthzGrpc?: ProviderSettings;
};

/** It is part of keys by which Envoy finds out what to ask. */
const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** The mesh settings are checked when they are read, so that providers have the shape of their kind. */
function accessProviders({ extensionProviders }: MeshSettings["source"]): readonly Provider[] {
  const providers = (extensionProviders ?? []) as readonly Provider[];
  return providers.filter((provider) => provider.envoyExtAuthzHttp ?? provider.envoyExtAuthzGrpc);
}

const HEADER_LISTS = [
  "includeRequestHeadersInCheck",
  "includeHeadersInCheck",
  "headersToUpstreamOnAllow",
  "headersToDownstreamOnDeny",
  "headersToDownstreamOnAllow",
] as const;

/** What Envoy would refuse together with the whole listener. */
function* settingsProblems(settings: HttpProviderSettings): Generator<string> {
  const { statusOnError = "", includeRequestBodyInCheck: body, includeAdditionalHeadersInCheck: added = {} } = settings;
  if (statusOnError !== "" && statusName(Number(statusOnError)) === undefined) {
    yield `statusOnError ${statusOnError} is not a status that Envoy knows`;
  }
  if (body !== undefined && (body.maxRequestBytes ?? 0) === 0) {
    yield "includeRequestBodyInCheck.maxRequestBytes must be greater than 0";
  }
  for (const list of HEADER_LISTS) {
    if (settings[list]?.includes("*")) yield `${list}: "*" alone is not supported, use a prefix or a suffix`;
  }
  for (const [name, value] of Object.entries(added)) {
    if (name === "" || /[\0\r\n]/.test(name + value)) {
      yield `includeAdditionalHeadersInCheck: ${JSON.stringify(name)} is not a header`;
    }
  }
}
