import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import { statNamed, UNKNOWN_HOSTS_CLUSTER } from "../shared/cluster-name.ts";
import { dynamicClusterType } from "../shared/dynamic-dns.ts";
import { headerCase } from "../shared/header-case.ts";
import { circuitBreakers, upstreamConnection } from "./connection-pool.ts";
import { httpOptions } from "./upstream-http.ts";
import { clientTransport } from "./upstream-tls.ts";

/** Requests to hosts that no service is known for, each looked up as it is called; there where the mesh wants them to be. */
export function unknownHostsCluster(
  mesh: MeshSettings,
  node: Pick<ProxyNode, "ipv4">,
  preservesCase: boolean,
): readonly Cluster[] {
  if (mesh.outboundTrafficPolicy !== "ALLOW_ANY_DYNAMIC_DNS") return [];
  const pool = mesh.defaultTrafficPolicy.connectionPool;
  const transport = clientTransport({
    policy: mesh.unknownHostsTls === undefined ? {} : { tls: mesh.unknownHostsTls },
    protocol: "HTTP",
    upstream: "downstream",
    sni: "",
    identities: [],
    autoMtls: "never",
    defaults: mesh.tlsDefaults,
    isDynamic: true,
  });
  const { autoSni = false, autoSanValidation = false } = transport.http ?? {};
  return [
    {
      ...statNamed(UNKNOWN_HOSTS_CLUSTER),
      ...dynamicClusterType(node, !(autoSni && autoSanValidation)),
      lbPolicy: "CLUSTER_PROVIDED",
      ...upstreamConnection(mesh, pool),
      circuitBreakers: circuitBreakers(pool),
      ...transport.sockets,
      ...httpOptions("downstream", pool, {
        upstreamHttpProtocolOptions: transport.http,
        http1: headerCase("HTTP", preservesCase),
      }),
    },
  ];
}
