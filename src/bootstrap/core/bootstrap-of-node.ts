import { isJsonObject } from "../../base/json-object.ts";
import { parseGoBool } from "../../base/parse-go-scalar.ts";
import { applyProxyConfig, proxyConfigJson } from "../../istio-api/proxy-config/apply-proxy-config.ts";
import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";
import { CURRENT_PROXY_CONFIG_RULES } from "../../istio-api/proxy-config/proxy-config-rules.ts";
import type { AgentFacts, BootstrapInputs, Locality } from "../inputs.ts";
import { bootstrapValues } from "./bootstrap-values.ts";
import { buildDocument } from "./document.ts";
import { BOOTSTRAP_RULES } from "./generations.ts";
import type { JsonObject } from "./json.ts";

/** A node as it introduced itself over xDS. */
export interface ReportedNode {
  readonly id: string;
  readonly cluster: string;
  readonly addresses: readonly string[];
  readonly locality: Locality;
  readonly metadata: JsonObject;
}

/** Agents up to this minor release of version 1 start Envoy with the older document. */
const LAST_OLD_MINOR = 20;
const DEFAULT_SOCKET = "socket";

/**
 * The bootstrap that the agent of a node would write itself, from what its node says: a control plane serves it to agents that ask for
 * theirs. What no node says (the agent's log format, variables that are not among `proxyMetadata`) is as it is by default. Throws
 * `BootstrapError` for values that cannot be used.
 */
export function bootstrapOfNode(node: ReportedNode): JsonObject {
  const { metadata } = node;
  const isOld = isOldRelease(text(metadata.ISTIO_VERSION));
  const { config: proxyConfig } = applyProxyConfig({}, metadata.PROXY_CONFIG, CURRENT_PROXY_CONFIG_RULES);
  const inputs: BootstrapInputs = {
    rules: isOld ? BOOTSTRAP_RULES["1.20"] : BOOTSTRAP_RULES.master,
    nodeId: node.id,
    nodeIps: node.addresses,
    proxyConfig: proxyConfigJson(proxyConfig),
    env: { ...proxyConfig.proxyMetadata, ...textsOf({ HOST_IP: metadata.HOST_IP }) },
    podLabels: null,
    podAnnotations: null,
    platform: {
      metadata: textsOf(metadata.PLATFORM_METADATA),
      locality: node.locality,
      labels: {},
      isKubernetes: true,
    },
    agent: agentFacts(metadata, proxyConfig),
    features: features(proxyConfig, isOld),
  };
  const descriptor = {
    id: node.id,
    cluster: node.cluster,
    locality: node.locality,
    typed: metadata,
    metadata,
    raw: new Map(Object.entries(metadata)),
    annotations: new Map(Object.entries(textsOf(metadata.ANNOTATIONS))),
    warnings: [],
  };
  return buildDocument(bootstrapValues(inputs, descriptor));
}

function isOldRelease(version: string): boolean {
  const minor = /^1\.(\d+)/.exec(version)?.[1];
  return minor !== undefined && Number(minor) <= LAST_OLD_MINOR;
}

function agentFacts(metadata: JsonObject, { proxyMetadata = {} }: ProxyConfig): AgentFacts {
  const port = (name: string) => Number(text(metadata[name])) || 0;
  const names = Array.isArray(metadata.PILOT_SAN) ? metadata.PILOT_SAN.map(text) : [];
  return {
    version: text(metadata.ISTIO_VERSION),
    pilotSubjectAltNames: names,
    xdsRootCert: "",
    stsPort: port("STS_PORT"),
    outlierLogPath: text(metadata.OUTLIER_LOG_PATH),
    envoyPrometheusPort: port("ENVOY_PROMETHEUS_PORT"),
    envoyStatusPort: port("ENVOY_STATUS_PORT"),
    envoySecureMetricsPort: port("ENVOY_SECURE_METRICS_PORT"),
    envoySecureMergedMetricsPort: port("ENVOY_SECURE_MERGED_METRICS_PORT"),
    workloadIdentitySocketFile: text(metadata.WORKLOAD_IDENTITY_SOCKET_FILE) || DEFAULT_SOCKET,
    exitOnZeroActiveConnections: text(metadata.EXIT_ON_ZERO_ACTIVE_CONNECTIONS) === "true",
    metadataDiscovery: undefined,
    envoySkipDeprecatedLogs: text(metadata.ENVOY_SKIP_DEPRECATED_LOGS) === "true",
    credentialSocketExists: metadata.credential === "true",
    customCredentialsFileExists: metadata["file-credential"] === "true",
    compliancePolicy: proxyMetadata.COMPLIANCE_POLICY ?? "",
    logAsJson: false,
  };
}

function features({ proxyMetadata = {} }: ProxyConfig, isOld: boolean): BootstrapInputs["features"] {
  const flag = (name: string, byDefault: boolean) => parseGoBool(proxyMetadata[name] ?? "") ?? byDefault;
  return {
    deltaXds: flag("ISTIO_DELTA_XDS", !isOld),
    dualStack: flag("ISTIO_DUAL_STACK", false),
    statusPortProxyProtocol: flag("ENVOY_STATUS_PORT_ENABLE_PROXY_PROTOCOL", false),
    stripFragmentFromPath: flag("HTTP_STRIP_FRAGMENT_FROM_PATH_UNSAFE_IF_DISABLED", true),
    xdsViaAgent: true,
    callCredentials: false,
  };
}

/** Agents send numbers and booleans as text as well, but not all of them. */
function text(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

function textsOf(value: unknown): Record<string, string> {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
