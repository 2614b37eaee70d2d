import { messageIn } from "../../protobuf/envoy/message-in.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type { TransportSocket } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { LbEndpoint } from "../../protobuf/gen/envoy/config/endpoint/v3.ts";
import type {
  CertificateValidationContext,
  CommonTlsContext,
  UpstreamTlsContext,
} from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";
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
  const context = messageIn(socket?.typedConfig, "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext");
  if (context === undefined) return undefined;
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
  const name = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
  const { explicitHttpConfig, useDownstreamProtocolConfig, autoConfig } =
    messageIn(typedExtensionProtocolOptions?.[name], name) ?? {};
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
  // PROXY protocol and the like stand around the socket that speaks TLS.
  const inner = config?.transportSocket as TransportSocket | undefined;
  const name = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext";
  return messageIn(config, name) ?? messageIn(inner?.typedConfig, name);
}

function validationOf(common: CommonTlsContext): CertificateValidationContext | undefined {
  return common.combinedValidationContext?.defaultValidationContext ?? common.validationContext;
}

function hasCertificate({ tlsCertificates = [], tlsCertificateSdsSecretConfigs = [] }: CommonTlsContext): boolean {
  return tlsCertificates.length + tlsCertificateSdsSecretConfigs.length > 0;
}
