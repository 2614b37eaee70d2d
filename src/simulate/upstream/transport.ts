import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type { TransportSocket } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { LbEndpoint } from "../../protobuf/gen/envoy/config/endpoint/v3.ts";
import type {
  CertificateValidationContext,
  CommonTlsContext,
  DownstreamTlsContext,
  UpstreamTlsContext,
} from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";
import type { HttpProtocolOptions } from "../../protobuf/gen/envoy/extensions/upstreams/http/v3.ts";
import type { Speech, TlsOffer } from "../connection/connection.ts";
import { matchesText } from "../match/text.ts";

const TYPE_OF_MATCH = "envoy.transport_socket_match";

/** How a proxy connects to an endpoint; undefined without TLS. */
export function tlsTo(
  cluster: Cluster,
  endpoint: LbEndpoint | undefined,
  identity: string,
  speaks: Speech,
): TlsOffer | undefined {
  const context = upstreamContext(cluster, endpoint);
  if (context === undefined) return undefined;
  const common = context.commonTlsContext ?? {};
  const names = validationOf(common)?.matchTypedSubjectAltNames ?? [];
  const fallback = speaks === "http2" ? ["h2"] : speaks === "http1" ? ["http/1.1"] : [];
  return {
    serverName: context.sni,
    alpn: common.alpnProtocols ?? fallback,
    identity: hasCertificate(common) ? identity : undefined,
    ...(names.length > 0 && {
      accepts: (server: string) => names.some(({ matcher }) => matcher !== undefined && matchesText(matcher, server)),
    }),
  };
}

/** Names that the server's certificate must carry one of. */
export function expectedNames(cluster: Cluster, endpoint: LbEndpoint | undefined): readonly string[] {
  const names =
    validationOf(upstreamContext(cluster, endpoint)?.commonTlsContext ?? {})?.matchTypedSubjectAltNames ?? [];
  return names.map(
    ({ matcher = {} }) => matcher.exact ?? (matcher.prefix === undefined ? "(a pattern)" : `${matcher.prefix}*`),
  );
}

/** What a listener's chain asks of the client's TLS; undefined: it ends no TLS. */
export function serverTls(
  socket: TransportSocket | undefined,
): { readonly needsCertificate: boolean; accepts(identity: string): boolean } | undefined {
  if (socket?.typedConfig?.["@type"]?.endsWith("DownstreamTlsContext") !== true) return undefined;
  const context = socket.typedConfig as unknown as DownstreamTlsContext;
  const names = validationOf(context.commonTlsContext ?? {})?.matchTypedSubjectAltNames ?? [];
  return {
    needsCertificate: context.requireClientCertificate === true,
    accepts: (identity) =>
      names.length === 0 || names.some(({ matcher }) => matcher !== undefined && matchesText(matcher, identity)),
  };
}

/** What is spoken to a cluster by a proxy whose client speaks this. */
export function upstreamSpeech({ typedExtensionProtocolOptions }: Cluster, downstream: Speech): Speech {
  if (downstream !== "http1" && downstream !== "http2") return downstream;
  const options = typedExtensionProtocolOptions?.["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"];
  const { explicitHttpConfig, useDownstreamProtocolConfig, autoConfig } = (options ??
    {}) as unknown as HttpProtocolOptions;
  if (useDownstreamProtocolConfig !== undefined) return downstream;
  return explicitHttpConfig?.http2ProtocolOptions !== undefined || autoConfig !== undefined ? "http2" : "http1";
}

function upstreamContext(
  { transportSocket, transportSocketMatches = [] }: Cluster,
  endpoint: LbEndpoint | undefined,
): UpstreamTlsContext | undefined {
  const marks = (endpoint?.metadata?.filterMetadata?.[TYPE_OF_MATCH] ?? {}) as Readonly<Record<string, unknown>>;
  const chosen = transportSocketMatches.find(({ match = {} }) =>
    Object.entries(match).every(([name, value]) => marks[name] === value),
  );
  const socket = chosen?.transportSocket ?? transportSocket;
  const config = socket?.typedConfig;
  if (config?.["@type"]?.endsWith("UpstreamTlsContext") === true) return config as unknown as UpstreamTlsContext;
  // PROXY protocol and the like stand around the socket that speaks TLS.
  const inner = config?.transportSocket as TransportSocket | undefined;
  return inner?.typedConfig?.["@type"]?.endsWith("UpstreamTlsContext") === true
    ? (inner.typedConfig as unknown as UpstreamTlsContext)
    : undefined;
}

function validationOf(common: CommonTlsContext): CertificateValidationContext | undefined {
  return common.combinedValidationContext?.defaultValidationContext ?? common.validationContext;
}

function hasCertificate({ tlsCertificates = [], tlsCertificateSdsSecretConfigs = [] }: CommonTlsContext): boolean {
  return tlsCertificates.length + tlsCertificateSdsSecretConfigs.length > 0;
}
