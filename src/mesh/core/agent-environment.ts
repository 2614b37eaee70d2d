import { workloadLabels } from "./istio-objects.ts";
import type { MeshPlan, Workload } from "./mesh-plan.ts";

/** Where the control plane's certificate is checked against, at any address. */
export const CONTROL_PLANE_NAME = "istiod.istio-system.svc";
export const CLUSTER_ID = "Kubernetes";

/** The environment of `pilot-agent proxy sidecar` in the workload's folder. */
export function agentEnvironment(plan: MeshPlan, workload: Workload, envoyBinary: string): Record<string, string> {
  const { ports } = workload;
  const isNamespaced = plan.isolation === "namespaces";
  return {
    ENVOY_BIN: envoyBinary,
    POD_NAME: workload.name,
    POD_NAMESPACE: plan.namespace,
    SERVICE_ACCOUNT: workload.serviceAccount,
    INSTANCE_IP: workload.address,
    CLOUD_PLATFORM: "none",
    ISTIOD_SAN: CONTROL_PLANE_NAME,
    ISTIO_META_CLUSTER_ID: CLUSTER_ID,
    ISTIO_META_INTERCEPTION_MODE: isNamespaced ? "REDIRECT" : "NONE",
    ISTIO_META_DNS_CAPTURE: String(isNamespaced),
    ISTIO_META_WORKLOAD_NAME: workload.name,
    ISTIO_METAJSON_LABELS: JSON.stringify(workloadLabels(workload)),
    // Keys of this kind are made in a millisecond, RSA ones in a hundred.
    ECC_SIGNATURE_ALGORITHM: "ECDSA",
    DNS_PROXY_ADDR: `localhost:${ports.dns}`,
    ENVOY_STATUS_PORT: String(ports.envoyStatus),
    ENVOY_PROMETHEUS_PORT: String(ports.envoyPrometheus),
    PROXY_XDS_DEBUG_VIA_AGENT_PORT: String(ports.tap),
    XDS_LAST_GOOD: "last-good",
    ...(plan.proxyless ? { DISABLE_ENVOY: "true", OUTPUT_CERTS: "certs" } : {}),
    PROXY_CONFIG: JSON.stringify({
      discoveryAddress: `${plan.controlPlane.host}:${plan.controlPlane.ports.secure}`,
      proxyAdminPort: ports.admin,
      statusPort: ports.status,
      interceptionMode: isNamespaced ? "REDIRECT" : "NONE",
      // A laptop has two to sixteen cores and a dozen workloads: threads per core would only cost memory.
      concurrency: 1,
      terminationDrainDuration: "1s",
    }),
  };
}
