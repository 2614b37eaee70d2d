import type { LoadBalancer } from "../../istio-api/specs.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type {
  CertificateProviderPluginInstance,
  CommonTlsContext,
} from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";
import { identitiesOf } from "../clusters/upstream-tls.ts";
import { parseClusterName } from "../shared/cluster-name.ts";
import { type EffectivePolicy, effectivePolicy, findSubset } from "../shared/traffic-policy.ts";

/** The clusters asked for, as far as they exist. */
export function generateGrpcClusters(scope: OutboundScope, names: readonly string[]): readonly Cluster[] {
  return [...new Set(names)].flatMap((name) => generateCluster(scope, name) ?? []);
}

function generateCluster(scope: OutboundScope, name: string): Cluster | undefined {
  const { direction, port, subset, host } = parseClusterName(name) ?? {};
  if (direction !== "outbound" || port === undefined || subset === undefined || host === undefined) return undefined;
  const service = scope.services.find(
    ({ hostname, ports }) => hostname === host && ports.some((own) => own.port === port),
  );
  if (service === undefined) return undefined;
  const rule = scope.destinationRule(service);
  if (subset !== "" && findSubset(rule, subset) === undefined) return undefined;
  const policy = effectivePolicy(rule, port, subset);
  const tls = policy.tls?.mode === "ISTIO_MUTUAL" ? policy.tls : undefined;
  const peerNames = tls && (tls.subjectAltNames.length > 0 ? tls.subjectAltNames : identitiesOf(scope, service));
  return {
    name,
    type: "EDS",
    edsClusterConfig: { edsConfig: { ads: {} }, serviceName: name },
    ...loadBalancing(policy.loadBalancer),
    ...limits(policy),
    ...(peerNames && { transportSocket: mutualTls(peerNames) }),
  };
}

/** gRPC knows round robin (its default), least request and rings; what it does not know becomes the nearest of these. */
function loadBalancing(loadBalancer: LoadBalancer | undefined): Cluster {
  const { simple, consistentHash } = loadBalancer ?? {};
  if (consistentHash !== undefined) {
    const size = consistentHash.ringHash?.minimumRingSize || consistentHash.minimumRingSize || DEFAULT_RING_SIZE;
    return { lbPolicy: "RING_HASH", ringHashLbConfig: { minimumRingSize: String(size) } };
  }
  return simple === "LEAST_REQUEST" || simple === "LEAST_CONN" ? { lbPolicy: "LEAST_REQUEST" } : {};
}

const DEFAULT_RING_SIZE = 1024;

/** Requests in flight are all that gRPC limits. */
function limits({ connectionPool }: EffectivePolicy): Cluster {
  const maxRequests = connectionPool?.http?.http2MaxRequests;
  return maxRequests ? { circuitBreakers: { thresholds: [{ maxRequests }] } } : {};
}

function mutualTls(peerNames: readonly string[]) {
  return {
    name: "envoy.transport_sockets.tls",
    typedConfig: pack("envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", {
      commonTlsContext: providedTls(peerNames),
    }),
  };
}

/** Names of the agent's gRPC bootstrap: the provider that reads the workload's certificate and the mesh's roots from files. */
const OWN: CertificateProviderPluginInstance = { instanceName: "default", certificateName: "default" };
const ROOTS: CertificateProviderPluginInstance = { instanceName: "default", certificateName: "ROOTCA" };

/**
 * Mutual TLS in gRPC's terms; older libraries read the older members. Peers of other names are refused when names are given: gRPC
 * knows only the untyped kind of matcher.
 */
export function providedTls(peerNames: readonly string[] = []): CommonTlsContext {
  return {
    tlsCertificateProviderInstance: OWN,
    tlsCertificateCertificateProviderInstance: OWN,
    combinedValidationContext: {
      defaultValidationContext: {
        caCertificateProviderInstance: ROOTS,
        ...(peerNames.length > 0 && {
          matchSubjectAltNames: [...new Set(peerNames)].sort().map((exact) => ({ exact })),
        }),
      },
      validationContextCertificateProviderInstance: ROOTS,
    },
  };
}
