import { extensionProviderProblems } from "../../istio-api/mesh-config/extension-provider-problems.ts";
import type { ExtensionProvider } from "../../istio-api/mesh-config/mesh-config.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import { enumTable } from "../../protobuf/envoy/index.ts";
import type { StatusCode } from "../../protobuf/gen/envoy/type/v3.ts";

/** What providers of both protocols say. */
export interface ProviderSettings {
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

export interface HttpProviderSettings extends ProviderSettings {
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

/** Service and port of every provider of authorization. */
export function accessServers({
  source,
}: MeshSettings): readonly Required<Pick<ProviderSettings, "service" | "port">>[] {
  return accessProviders(source)
    .map(({ envoyExtAuthzHttp, envoyExtAuthzGrpc }) => envoyExtAuthzHttp ?? envoyExtAuthzGrpc ?? {})
    .map(({ service = "", port = 0 }: ProviderSettings) => ({ service, port }));
}

/** Undefined: Envoy knows no such status. */
export function statusName(code: number): StatusCode | undefined {
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
