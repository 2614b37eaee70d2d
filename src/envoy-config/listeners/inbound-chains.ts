import { isHttp, isHttp2, isSniffed, type Protocol } from "../../istio-api/values/protocol.ts";
import type { MtlsMode } from "../../mesh-model/push-snapshot.ts";
import { UNKNOWN } from "../../mesh-model/workload-labels.ts";
import type { TransportSocket } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { Filter, FilterChain, FilterChainMatch } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { RouteConfiguration } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { InboundPolicies } from "../authz/access-policies.ts";
import { MESH_ALPN, MESH_HTTP_ALPN, MESH_TCP_ALPN, PLAINTEXT_HTTP } from "../shared/alpn.ts";
import type { ServedService } from "../telemetry/metric-tags.ts";
import type { InboundReporting } from "../telemetry/reporting.ts";
import type { ChainPlace, WasmPlugins } from "../wasm/wasm-plugins.ts";
import { buildHttpFilters, type HttpManagerSettings, httpManagerFilter } from "./http-manager.ts";
import { tcpProxyTo } from "./tcp-proxy.ts";

/** What all chains of one proxy share. */
export interface InboundSettings extends HttpManagerSettings {
  readonly policies: InboundPolicies;
  readonly plugins: WasmPlugins;
  /** The workload's own certificate, for chains that end TLS. */
  readonly tlsSocket: TransportSocket;
  readonly reporting: Pick<InboundReporting, "logsOf">;
}

/** One port, or all ports that are not named elsewhere. */
export interface InboundTarget {
  readonly cluster: string;
  readonly protocol: Protocol;
  readonly servicePort: number;
  /** Undefined: every port. */
  readonly destinationPort?: number;
  readonly statPrefix: string;
  /** The one that is served there; undefined: none is known. */
  readonly service?: ServedService;
  readonly chainName: (layer: ChainShape["layer"]) => string;
  /** Instead of the workload's. */
  readonly tlsSocket?: TransportSocket;
}

export function buildInboundChains(
  settings: InboundSettings,
  target: InboundTarget,
  shapes: readonly ChainShape[],
): readonly FilterChain[] {
  // Chains of a port differ in their match alone.
  const logs = settings.reporting.logsOf(target.service ?? { ...NO_SERVICE, name: target.cluster });
  const http = shapes.some(({ layer }) => layer === "http")
    ? httpFilters({ ...settings, accessLog: logs.http }, target)
    : [];
  const { destinationPort } = target;
  const { policies, plugins } = settings;
  const network = plugins.network(policies.network, policies.places.network, placeOf(target));
  const ended = [...network, tcpProxyTo(target.cluster, logs.tcp, settings.idleTimeout, true)];
  const tcp = [...network, tcpProxyTo(target.cluster, logs.tcp, settings.idleTimeout)];
  return shapes.map(({ match, layer, endsTls }) => ({
    name: target.chainName(layer),
    filterChainMatch: { ...(destinationPort !== undefined && { destinationPort }), ...match },
    ...(endsTls && { transportSocket: target.tlsSocket ?? settings.tlsSocket }),
    filters: layer === "http" ? http : endsTls ? ended : tcp,
  }));
}

function placeOf({ destinationPort: port = 0 }: InboundTarget): ChainPlace {
  return { mode: "SERVER", port };
}

const NO_SERVICE = { host: UNKNOWN, namespace: UNKNOWN };

function httpFilters(settings: InboundSettings, target: InboundTarget): readonly Filter[] {
  const { protocol, cluster, servicePort, statPrefix } = target;
  const {
    forwardedClientCert = "UNDEFINED",
    setCurrentClientCertDetails: details = {},
    envoyDebugHeaders,
  } = settings.headers;
  const hidesDebugHeaders = envoyDebugHeaders?.disabled === true;
  const { policies, plugins } = settings;
  return [
    httpManagerFilter(settings, {
      statPrefix,
      routeConfig: buildInboundRoute(cluster, servicePort, protocol),
      httpFilters: buildHttpFilters({
        grpcWeb: protocol === "GRPC-Web",
        hidesDebugHeaders,
        security: plugins.http(policies.http, policies.places.http, placeOf(target)),
      }),
      // Tells the application who called: it sees only the proxy's connection.
      forwardClientCertDetails: forwardedClientCert === "UNDEFINED" ? "APPEND_FORWARD" : forwardedClientCert,
      setCurrentClientCertDetails: { subject: true, dns: true, uri: true, ...details },
      serverName: "istio-envoy",
      ...(target.service && { tracing: { operation: `${target.service.host}:${servicePort}/*` } }),
      ...(isHttp2(protocol) && { http2ProtocolOptions: {} }),
    }),
  ];
}

/** What a port is known to carry. */
type Traffic = "http" | "tcp" | "sniffed";

interface ChainShape {
  /** Besides the port. */
  readonly match: FilterChainMatch;
  readonly layer: "http" | "tcp";
  /** The proxy ends TLS; otherwise the bytes go on as they come. */
  readonly endsTls: boolean;
}

export function trafficOf(protocol: Protocol): Traffic {
  if (isHttp(protocol)) return "http";
  return isSniffed(protocol) ? "sniffed" : "tcp";
}

const tls = (layer: ChainShape["layer"], applicationProtocols?: readonly string[]): ChainShape => ({
  match: { transportProtocol: "tls", ...(applicationProtocols && { applicationProtocols }) },
  layer,
  endsTls: true,
});
const plain = (layer: ChainShape["layer"], applicationProtocols?: readonly string[]): ChainShape => ({
  match: { transportProtocol: "raw_buffer", ...(applicationProtocols && { applicationProtocols }) },
  layer,
  endsTls: false,
});
/** The application's own TLS, which is none of the proxy's business. */
const FOREIGN_TLS: ChainShape = { match: { transportProtocol: "tls" }, layer: "tcp", endsTls: false };

/** The chains of one port: what is accepted under a mode, and how it is understood. */
export const CHAIN_TABLE: Readonly<Record<MtlsMode, Readonly<Record<Traffic, readonly ChainShape[]>>>> = {
  STRICT: {
    http: [tls("http")],
    tcp: [tls("tcp")],
    sniffed: [tls("http", MESH_HTTP_ALPN), tls("tcp")],
  },
  PERMISSIVE: {
    http: [tls("http", MESH_ALPN), plain("http")],
    tcp: [tls("tcp", MESH_ALPN), FOREIGN_TLS, plain("tcp")],
    sniffed: [
      tls("http", MESH_HTTP_ALPN),
      plain("http", PLAINTEXT_HTTP),
      tls("tcp", MESH_TCP_ALPN),
      plain("tcp"),
      FOREIGN_TLS,
    ],
  },
  // TLS is not looked for, so that `raw_buffer` holds for everything.
  DISABLE: {
    http: [plain("http")],
    tcp: [plain("tcp")],
    sniffed: [plain("http", PLAINTEXT_HTTP), plain("tcp")],
  },
};

/** A port with a certificate of its own: nothing but TLS, ended here. What it then carries is known from the handshake alone. */
export const OWN_TLS_CHAINS: Readonly<Record<Traffic, readonly ChainShape[]>> = {
  http: [tls("http")],
  tcp: [tls("tcp")],
  sniffed: [tls("http", ["h2", "http/1.1"]), tls("tcp")],
};

/** Everything goes to the one cluster. Time limits are the client's business. */
function buildInboundRoute(cluster: string, servicePort: number, protocol: Protocol): RouteConfiguration {
  const isGrpc = protocol === "GRPC" || protocol === "GRPC-Web";
  return {
    name: cluster,
    validateClusters: false,
    virtualHosts: [
      {
        name: `inbound|http|${servicePort}`,
        domains: ["*"],
        routes: [
          {
            name: "default",
            match: { prefix: "/" },
            route: {
              cluster,
              timeout: "0s",
              maxStreamDuration: { maxStreamDuration: "0s", grpcTimeoutHeaderMax: "0s" },
              // The application has seen nothing of such a request: its connection was closed while idle.
              ...(!isGrpc && { retryPolicy: { retryOn: "reset-before-request", numRetries: 2 } }),
            },
          },
        ],
      },
    ],
  };
}
