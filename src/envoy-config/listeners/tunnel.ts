import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";
import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import { joinHostPort } from "../../net/host-port.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type { FilterChain, Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { Principal } from "../../protobuf/gen/envoy/config/rbac/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import type { InboundPolicies } from "../authz/access-policies.ts";
import { meshTlsSocket } from "../tls/server-tls.ts";
import { listenerAddress, wildcardBinds } from "./addresses.ts";
import { detectionTimeout, inspectorsByPort, ORIGINAL_DESTINATION } from "./listener-filters.ts";

/** Where neighbours without sidecar (ztunnel, waypoints) call a workload by HTTP CONNECT over mutual TLS, which is called HBONE. */
export const TUNNEL_PORT = 15008;
const TERMINATE = "connect_terminate";
const INNER = "main_internal";

/** The proxy says that it takes tunnels; they need capture, as what is called is the workload's own address. */
export function acceptsTunnels({ metadata, type, interception }: ProxyNode): boolean {
  const said = String(metadata.ENABLE_HBONE ?? "");
  return type === "sidecar" && interception !== "NONE" && /^(?:1|t|T|TRUE|true|True)$/.test(said);
}

/** The listener that ends tunnels, and the one that takes what was in them as if it had been called directly. */
export function tunnelListeners(view: ProxyView, chains: readonly FilterChain[]): readonly Listener[] {
  const { node, snapshot } = view;
  const matches = chains.map(({ filterChainMatch = {} }) => filterChainMatch);
  return [
    {
      ...listenerAddress(wildcardBinds(node), TUNNEL_PORT),
      name: TERMINATE,
      trafficDirection: "INBOUND",
      filterChains: [
        { name: "default", transportSocket: meshTlsSocket(snapshot.mesh, node.serverTls), filters: [terminator(node)] },
      ],
    },
    {
      name: INNER,
      internalListener: {},
      trafficDirection: "INBOUND",
      ...detectionTimeout(snapshot.mesh, [ORIGINAL_DESTINATION, ...inspectorsByPort(matches)]),
      filterChains: chains,
    },
  ];
}

/** From the one to the other, inside of Envoy. */
export const TUNNEL_CLUSTER: Cluster = {
  name: INNER,
  type: "STATIC",
  loadAssignment: {
    clusterName: INNER,
    endpoints: [{ lbEndpoints: [{ endpoint: { address: { envoyInternalAddress: { serverListenerName: INNER } } } }] }],
  },
  transportSocket: {
    name: "envoy.transport_sockets.internal_upstream",
    typedConfig: pack("envoy.extensions.transport_sockets.internal_upstream.v3.InternalUpstreamTransport", {
      transportSocket: {
        name: "envoy.transport_sockets.raw_buffer",
        typedConfig: pack("envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer", {}),
      },
    }),
  },
};

/** Who called is known by the tunnel, not by the connection inside of it. */
const PEER = "io.istio.peer_principal";

/** What the inner listener is to know of the tunnel: where it leads, where it comes from, and who made it. */
const PASSED_ON: HttpFilter = {
  name: "connect_authority",
  typedConfig: pack("envoy.extensions.filters.http.set_filter_state.v3.Config", {
    onRequestHeaders: [
      passedOn("envoy.filters.listener.original_dst.local_ip", "%REQ(:AUTHORITY)%"),
      passedOn("envoy.filters.listener.original_dst.remote_ip", "%DOWNSTREAM_REMOTE_ADDRESS%"),
      { ...passedOn(PEER, "%DOWNSTREAM_PEER_URI_SAN%"), factoryKey: "envoy.string" },
    ],
  }),
};

function passedOn(objectKey: string, inlineString: string) {
  return {
    objectKey,
    formatString: { textFormatSource: { inlineString } },
    sharedWithUpstream: "ONCE" as const,
    readOnly: true,
  };
}

/** Tunnels lead to the workload's own addresses and nowhere else: the proxy is not a way to others. */
function terminator({ addresses }: ProxyNode) {
  return {
    name: "envoy.filters.network.http_connection_manager",
    typedConfig: pack("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", {
      statPrefix: TERMINATE,
      codecType: "HTTP2",
      http2ProtocolOptions: { allowConnect: true },
      upgradeConfigs: [{ upgradeType: "CONNECT" }],
      // A tunnel may be silent for as long as what is in it.
      streamIdleTimeout: "0s",
      httpFilters: [
        PASSED_ON,
        {
          name: "envoy.filters.http.router",
          typedConfig: pack("envoy.extensions.filters.http.router.v3.Router", {}),
        },
      ],
      routeConfig: {
        name: "default",
        validateClusters: false,
        virtualHosts: [
          {
            name: "default",
            domains: addresses.map((address) => joinHostPort(address, "*")),
            routes: [
              {
                match: { connectMatcher: {} },
                route: {
                  cluster: INNER,
                  timeout: "0s",
                  upgradeConfigs: [{ upgradeType: "CONNECT", connectConfig: {} }],
                },
              },
            ],
          },
        ],
      },
    }),
  };
}

/** The same rules about callers, who are known by the tunnel. */
export function throughTunnel(policies: InboundPolicies): InboundPolicies {
  return { ...policies, http: policies.http.map(asTunnelled), network: policies.network.map(asTunnelled) };
}

function asTunnelled<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(asTunnelled) as Value;
  if (typeof value !== "object" || value === null) return value;
  const { authenticated } = value as Principal;
  if (authenticated !== undefined) {
    const stringMatch = authenticated.principalName ?? { prefix: "spiffe://" };
    return { filterState: { key: PEER, stringMatch } } as Value;
  }
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asTunnelled(member)])) as Value;
}
