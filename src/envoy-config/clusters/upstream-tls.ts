import type { ClientTls } from "../../istio-api/specs.ts";
import { isHttp, type Protocol } from "../../istio-api/values/protocol.ts";
import type { TlsDefaults } from "../../mesh-model/mesh-settings.ts";
import type { NodeTlsFiles } from "../../mesh-model/proxy/proxy-node.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";
import { constantMessage } from "../../protobuf/envoy/index.ts";
import type {
  Cluster,
  Cluster_DiscoveryType,
  Cluster_TransportSocketMatch,
} from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type { TransportSocket, UpstreamHttpProtocolOptions } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { EffectivePolicy } from "../shared/traffic-policy.ts";
import { endpointMtls } from "../shared/worlds.ts";
import {
  NO_TLS,
  originatedTls,
  proxyProtocolSocket,
  RAW_BUFFER,
  refusedTls,
  upstreamTlsSocket,
} from "../tls/client-tls.ts";
import { exactSans, withTrustDomainAliases, workloadTls } from "../tls/workload-tls.ts";
import type { UpstreamProtocol } from "./upstream-http.ts";

/** What the connections of one cluster are decided from. */
export interface TransportTarget {
  readonly policy: Pick<EffectivePolicy, "tls" | "proxyProtocol">;
  readonly protocol: Protocol;
  readonly upstream: UpstreamProtocol;
  /** What the server is asked for by, when nothing else is said. */
  readonly sni: string;
  /** Names that certificates of the endpoints may carry. */
  readonly identities: readonly string[];
  /** Without settings in a rule: never, for endpoints that say they can, or for all of them. */
  readonly autoMtls: "never" | "where-possible" | "always";
  readonly files?: NodeTlsFiles | undefined;
  /** For TLS to servers outside the mesh. */
  readonly defaults?: TlsDefaults | undefined;
  /** Who calls; undefined: a sidecar. */
  readonly proxy?: "sidecar" | "router";
  /** Each request has its own server, so that only the request knows the name to ask for. */
  readonly isDynamic?: boolean;
}

interface ClientTransport {
  readonly sockets: Pick<Cluster, "transportSocket" | "transportSocketMatches">;
  readonly http?: UpstreamHttpProtocolOptions;
}

/** The endpoint's metadata say which of the matches is meant; see `TLS_MODE_ISTIO`. */
const TLS_MODE_ISTIO = Object.freeze({ tlsMode: "istio" });

export function clientTransport(target: TransportTarget): ClientTransport {
  const { tls, proxyProtocol } = target.policy;
  const wrap = (socket: TransportSocket) =>
    proxyProtocol === undefined ? socket : proxyProtocolSocket(proxyProtocol.version, socket);
  if (tls === undefined && target.autoMtls === "where-possible") {
    return {
      sockets: { transportSocketMatches: matches(wrap(meshSocket(target)), wrap(RAW_BUFFER)) },
      ...(target.isDynamic && { http: { autoSni: true, autoSanValidation: true } }),
    };
  }
  const socket = tlsSocket(target);
  if (socket === undefined)
    return proxyProtocol === undefined ? PLAINTEXT : { sockets: { transportSocket: wrap(RAW_BUFFER) } };
  const isAsked = tls && (isOriginated(tls) ? refusedTls(tls, target.proxy) === undefined : target.isDynamic);
  const http = isAsked ? hostFromRequest(tls, target.isDynamic) : undefined;
  return { sockets: { transportSocket: wrap(socket) }, ...(http && { http }) };
}

const PLAINTEXT: ClientTransport = { sockets: {} };

function matches(secured: TransportSocket, plain: TransportSocket): readonly Cluster_TransportSocketMatch[] {
  return [
    { name: "tlsMode-istio", match: TLS_MODE_ISTIO, transportSocket: secured },
    plain === RAW_BUFFER ? PLAIN_MATCH : { ...PLAIN_MATCH, transportSocket: plain },
  ];
}

const PLAIN_MATCH = constantMessage<Cluster_TransportSocketMatch>({
  name: "tlsMode-disabled",
  match: {},
  transportSocket: RAW_BUFFER,
});

function tlsSocket(target: TransportTarget): TransportSocket | undefined {
  const { tls } = target.policy;
  if (tls === undefined) return target.autoMtls === "always" ? meshSocket(target) : undefined;
  if (tls.mode === "DISABLE") return undefined;
  if (!isOriginated(tls)) return meshSocket(target, tls);
  if (refusedTls(tls, target.proxy) !== undefined) return upstreamTlsSocket({ commonTlsContext: NO_TLS });
  const sans = tls.subjectAltNames.length > 0 ? tls.subjectAltNames : target.identities;
  return upstreamTlsSocket({
    commonTlsContext: originatedTls(tls, {
      sans,
      alpnProtocols: target.upstream === "http2" ? ["h2"] : [],
      defaults: target.defaults,
    }),
    ...(tls.sni !== "" && { sni: tls.sni }),
  });
}

function isOriginated({ mode }: ClientTls): boolean {
  return mode === "SIMPLE" || mode === "MUTUAL";
}

/** Mutual TLS between workloads of the mesh. */
function meshSocket({ identities, files, protocol, upstream, sni }: TransportTarget, tls?: ClientTls): TransportSocket {
  const names = tls !== undefined && tls.subjectAltNames.length > 0 ? tls.subjectAltNames : identities;
  const asked = tls !== undefined && tls.sni !== "" ? tls.sni : sni;
  return upstreamTlsSocket({
    commonTlsContext: workloadTls({ files, alpnProtocols: meshAlpn(protocol, upstream), sans: exactSans(names) }),
    // Longer ones Envoy refuses, and workloads do not choose by it.
    ...(asked !== "" && asked.length <= MAX_SNI && { sni: asked }),
  });
}

const MAX_SNI = 255;

/**
 * A server that looks at traffic to find out what it is knows it from the application protocol: names with `istio` are offered by
 * workloads of the mesh only. What a sniffed port carries is not known when the connection is made, so that it counts as bytes.
 */
function meshAlpn(protocol: Protocol, upstream: UpstreamProtocol): readonly string[] {
  if (upstream === "http2") return ALPN.http2;
  return upstream === "http1" && isHttp(protocol) ? ALPN.http1 : ALPN.bytes;
}

const ALPN = {
  http1: ["istio-http/1.1", "istio", "http/1.1"],
  http2: ["istio-h2", "istio", "h2"],
  bytes: ["istio"],
} as const;

/** Where the rule names no host, the request's own one is asked for and must be in the certificate. */
function hostFromRequest(
  { sni, subjectAltNames, insecureSkipVerify }: ClientTls,
  isDynamic = false,
): UpstreamHttpProtocolOptions | undefined {
  const autoSni = sni === "";
  const isNamed = isDynamic || (autoSni && subjectAltNames.length === 0);
  const autoSanValidation = isNamed && insecureSkipVerify !== true;
  if (!autoSni && !autoSanValidation) return undefined;
  return { ...(autoSni && { autoSni }), ...(autoSanValidation && { autoSanValidation }) };
}

/**
 * Mutual TLS where no rule sets TLS. Envoy finds an endpoint's ability in its metadata; a cluster that calls the original
 * address has no metadata, so that all endpoints must be able.
 */
export function autoMtls(
  scope: OutboundScope,
  service: Service,
  type: Cluster_DiscoveryType,
): TransportTarget["autoMtls"] {
  const isPossible = scope.mesh.enableAutoMtls && !service.meshExternal && scope.serviceMtls(service) !== "DISABLE";
  if (!isPossible) return "never";
  // A router asks for the endpoints of a headless service; before there are any, none is known to be able.
  const isDeserted = service.resolution === "Passthrough" && scope.snapshot.endpoints(service.key).length === 0;
  if (type !== "ORIGINAL_DST") return isDeserted ? "never" : "where-possible";
  return isAble(scope, service) ? "always" : "never";
}

/** All endpoints prove who they are, and none has a policy of its own that disables it. */
function isAble(scope: OutboundScope, service: Service): boolean {
  const { allMtls, inlined } = scope.snapshot.endpointShape(service.key);
  return allMtls && inlined.every((endpoint) => endpointMtls(scope, endpoint) !== "DISABLE");
}

/** Every name that a certificate of the service may carry. */
export function identitiesOf({ snapshot, mesh }: OutboundScope, service: Service): readonly string[] {
  const names = [...snapshot.serviceAccounts(service.key), ...service.subjectAltNames];
  return withTrustDomainAliases(names, mesh.trustDomainAliases);
}
