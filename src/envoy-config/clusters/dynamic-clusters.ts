import type { Protocol } from "../../istio-api/values/protocol.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import type { Service, ServicePort } from "../../mesh-model/service.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import { clusterName } from "../shared/cluster-name.ts";
import { dynamicClusterType } from "../shared/dynamic-dns.ts";
import { headerCase } from "../shared/header-case.ts";
import { effectivePolicy } from "../shared/traffic-policy.ts";
import { circuitBreakers, upstreamConnection } from "./connection-pool.ts";
import { outlierDetection } from "./outlier-detection.ts";
import { httpOptions, upstreamProtocol } from "./upstream-http.ts";
import { autoMtls, clientTransport } from "./upstream-tls.ts";

/** Clusters of a service whose names are looked up as they are called. It has no endpoints that subsets could choose among. */
export function dynamicClusters(scope: OutboundScope, service: Service): readonly Cluster[] {
  return service.ports
    .filter(({ protocol }) => NAMING.has(protocol))
    .map((port) => dynamicCluster(scope, service, port));
}

/** Protocols that say in the open which name is called. */
const NAMING: ReadonlySet<Protocol> = new Set(["HTTP", "HTTP2", "GRPC", "TLS"]);

function dynamicCluster(scope: OutboundScope, service: Service, { port, protocol }: ServicePort): Cluster {
  const { mesh, traits } = scope;
  const policy = effectivePolicy(scope.destinationRule(service), port, "", mesh.defaultTrafficPolicy);
  const preservesHeaderCase = traits.preservesHeaderCase ?? mesh.preservesHeaderCase;
  const pool = policy.connectionPool;
  const upgradesToHttp2 = mesh.source.h2UpgradePolicy === "UPGRADE";
  const upstream = upstreamProtocol(protocol, { pool, upgradesToHttp2, preservesHeaderCase });
  const transport = clientTransport({
    policy,
    protocol,
    upstream,
    sni: "",
    identities: [],
    autoMtls: autoMtls(scope, service, "STATIC"),
    files: traits.clientTls,
    defaults: mesh.tlsDefaults,
    isDynamic: true,
  });
  const { autoSni = false, autoSanValidation = false } = transport.http ?? {};
  const options = httpOptions(upstream, pool, {
    upstreamHttpProtocolOptions: transport.http,
    http1: headerCase(protocol, preservesHeaderCase),
  });
  const isTls = policy.tls !== undefined && policy.tls.mode !== "DISABLE";
  const isSaid = isTls || options.typedExtensionProtocolOptions !== undefined;
  return {
    name: clusterName("outbound", port, "", service.hostname),
    // Who says anything of HTTP or TLS must also say that servers are asked for by the name that was called and prove it, or that
    // they need not: Envoy refuses a cluster that leaves it open.
    ...dynamicClusterType(traits, isSaid && !(autoSni && autoSanValidation)),
    lbPolicy: "CLUSTER_PROVIDED",
    ...upstreamConnection(mesh, pool),
    circuitBreakers: circuitBreakers(pool, policy.retryBudget),
    ...(policy.outlierDetection && { outlierDetection: outlierDetection(policy.outlierDetection) }),
    ...transport.sockets,
    ...options,
  };
}
