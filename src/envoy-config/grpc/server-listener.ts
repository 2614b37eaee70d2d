import { isIP } from "node:net";
import { TLS_MODE_LABEL } from "../../mesh-model/endpoint.ts";
import type { InboundScope, ProxyView } from "../../mesh-model/push-snapshot.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { buildGrpcAccessFilters } from "../authz/index.ts";
import { providedTls } from "./certificates.ts";
import { filter, ROUTER } from "./client-listeners.ts";

/** As the agent's gRPC bootstrap spells it, before the address that the server listens on. */
const PREFIX = "xds.istio.io/grpc/lds/inbound/";

export function isServerListener(name: string): boolean {
  return name.startsWith(PREFIX);
}

/**
 * How a gRPC server is to accept connections on an address. Undefined for an address that is none, or a port that no service of the
 * workload leads to. gRPC refuses listener filters and chains that it would have to choose by sniffing.
 */
export function serverListener(view: ProxyView, name: string): Listener | undefined {
  const [, address = "", digits = ""] = /^\[?([^[\]]+?)\]?:(\d{1,5})$/.exec(name.slice(PREFIX.length)) ?? [];
  const port = Number(digits);
  if (isIP(address) === 0 || !serves(view.inbound, port)) return undefined;
  const kind = isMutual(view, port) ? "mtls" : "plaintext";
  return {
    name,
    address: { socketAddress: { address, portValue: port } },
    filterChains: [
      {
        name: `inbound-${kind}`,
        filters: [filter(`inbound-hcm${kind}`, buildManager(view))],
        ...(kind === "mtls" && { transportSocket: MUTUAL_TLS }),
      },
    ],
    trafficDirection: "INBOUND",
  };
}

/** Names of clients cannot be checked here: gRPC servers do not support it. */
const MUTUAL_TLS = {
  name: "envoy.transport_sockets.tls",
  typedConfig: pack("envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext", {
    commonTlsContext: providedTls(),
    requireClientCertificate: true,
  }),
};

function buildManager(view: ProxyView) {
  return pack("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", {
    routeConfig: {
      name: "inbound",
      virtualHosts: [
        { name: "inbound", domains: ["*"], routes: [{ match: { prefix: "/" }, nonForwardingAction: {} }] },
      ],
    },
    httpFilters: [...buildGrpcAccessFilters(view), filter("envoy.filters.http.router", ROUTER)],
  });
}

function serves({ targets, ingress }: InboundScope, port: number): boolean {
  return targets.some(({ targetPort }) => targetPort === port) || ingress.some((own) => own.port?.number === port);
}

/** A server cannot tell TLS from plaintext by looking: where both are allowed, it does what its label promises to clients. */
function isMutual({ node, inbound }: ProxyView, port: number): boolean {
  const mode = inbound.portMtls.get(port) ?? inbound.mtls;
  return mode === "STRICT" || (mode === "PERMISSIVE" && node.labels[TLS_MODE_LABEL] === "istio");
}
