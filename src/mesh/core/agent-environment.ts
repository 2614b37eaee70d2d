import { STATS_PATTERNS } from "../../console/index.ts";
import { workloadLabels } from "./istio-objects.ts";
import { isProxyless, type MeshPlan, type Workload } from "./mesh-plan.ts";

/** Where the control plane's certificate is checked against, at any address. */
export const CONTROL_PLANE_NAME = "istiod.istio-system.svc";
export const CLUSTER_ID = "Kubernetes";
/** In the agent's folder: a socket reaches across network namespaces. */
export const CONSOLE_SOCKET = "console.sock";

/** In the agent's folder: what Envoy merges over its bootstrap. */
export const BOOTSTRAP_OVERRIDE = "bootstrap-override.json";

/** What the application is asked by its agent, who alone reaches it in a namespace. */
export const HEALTH_PATH = "/app-health/app/readyz";

/** The environment of `pilot-agent proxy` in the workload's folder. */
export function agentEnvironment(plan: MeshPlan, workload: Workload, envoyBinary: string): Record<string, string> {
  const { ports } = workload;
  const isNamespaced = plan.isolation === "namespaces";
  // A gateway captures nothing, and a program that speaks xDS has nothing to be captured for.
  const isCaptured = isNamespaced && workload.kind === "sidecar";
  const isWithoutEnvoy = isProxyless(plan, workload);
  const interceptionMode = isCaptured ? "REDIRECT" : "NONE";
  return {
    ENVOY_BIN: envoyBinary,
    POD_NAME: workload.name,
    POD_NAMESPACE: plan.namespace,
    SERVICE_ACCOUNT: workload.serviceAccount,
    INSTANCE_IP: workload.address,
    CLOUD_PLATFORM: "none",
    ISTIOD_SAN: CONTROL_PLANE_NAME,
    ISTIO_META_CLUSTER_ID: CLUSTER_ID,
    ISTIO_META_INTERCEPTION_MODE: interceptionMode,
    ISTIO_META_DNS_CAPTURE: String(isCaptured),
    // Hosts of ServiceEntries without an address resolve to one that the capture leads to the sidecar.
    ...(isCaptured ? { ISTIO_META_DNS_AUTO_ALLOCATE: "true" } : {}),
    ISTIO_META_WORKLOAD_NAME: workload.name,
    ISTIO_METAJSON_LABELS: JSON.stringify(workloadLabels(workload)),
    // Keys of this kind are made in a millisecond, RSA ones in a hundred.
    ECC_SIGNATURE_ALGORITHM: "ECDSA",
    DNS_PROXY_ADDR: `localhost:${ports.dns}`,
    ENVOY_STATUS_PORT: String(ports.envoyStatus),
    ENVOY_PROMETHEUS_PORT: String(ports.envoyPrometheus),
    PROXY_XDS_DEBUG_VIA_AGENT_PORT: String(ports.tap),
    XDS_LAST_GOOD: "last-good",
    CONSOLE_SOCKET,
    ...(isNamespaced ? appProbers(workload) : {}),
    ...(isWithoutEnvoy
      ? { DISABLE_ENVOY: "true", OUTPUT_CERTS: "certs" }
      : { ISTIO_BOOTSTRAP_OVERRIDE: BOOTSTRAP_OVERRIDE }),
    PROXY_CONFIG: JSON.stringify({
      discoveryAddress: `${plan.controlPlane.host}:${plan.controlPlane.ports.secure}`,
      proxyAdminPort: ports.admin,
      statusPort: ports.status,
      interceptionMode,
      // A laptop has two to sixteen cores and a dozen workloads: threads per core would only cost memory.
      concurrency: 1,
      terminationDrainDuration: "1s",
      // What the console shows; statistics that are not here cost a sidecar nothing.
      ...(isWithoutEnvoy ? {} : { proxyStatsMatcher: { inclusionRegexps: STATS_PATTERNS } }),
    }),
  };
}

/** As the injector writes them for the probes of a pod. */
function appProbers({ healthCheck }: Workload): Readonly<Record<string, string>> {
  if (healthCheck === undefined || healthCheck.probe.kind === "command") return {};
  const { probe, timeoutMs } = healthCheck;
  const action =
    probe.kind === "http" ? { httpGet: { path: probe.path, port: probe.port } } : { tcpSocket: { port: probe.port } };
  const timeoutSeconds = Math.max(1, Math.ceil(timeoutMs / 1000));
  return { ISTIO_KUBE_APP_PROBERS: JSON.stringify({ [HEALTH_PATH]: { ...action, timeoutSeconds } }) };
}
