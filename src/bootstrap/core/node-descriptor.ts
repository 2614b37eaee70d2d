import { compareText } from "../../base/go-text.ts";
import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";
import { parsePodInfo } from "../../protocol/pod-info.ts";
import type { AgentFacts, BootstrapInputs, Locality } from "../inputs.ts";
import type { NodeRules } from "./generations.ts";
import { type JsonObject, sortKeys } from "./json.ts";
import { type RawValue, readRawMetadata, readStaticLabels } from "./raw-metadata.ts";
import { decodeMetadata, isEmptyValue, type TypedMetadata } from "./typed-metadata.ts";

const DEFAULT_NAME = "istio-proxy";
const CANONICAL_NAME = "service.istio.io/canonical-name";
const CANONICAL_REVISION = "service.istio.io/canonical-revision";
const CANONICAL_LABELS = [CANONICAL_NAME, "app.kubernetes.io/name", "app"];

const LOCALITY_LABEL = "istio-locality";

/** Who this proxy is, as Envoy and gRPC clients report it to the control plane. */
export interface NodeDescriptor {
  readonly id: string;
  readonly cluster: string;
  readonly locality: Locality;
  /** Typed keys only, sorted. */
  readonly typed: JsonObject;
  /** Typed keys and every raw key beside them, sorted. */
  readonly metadata: JsonObject;
  /** Untyped values by key, as they came in. */
  readonly raw: ReadonlyMap<string, unknown>;
  readonly annotations: ReadonlyMap<string, string>;
  /** For the log; nothing in them is secret. */
  readonly warnings: readonly string[];
}

/** Throws `BootstrapError` (invalid-metadata) for structured values that do not parse. */
export function buildNodeDescriptor(inputs: BootstrapInputs): NodeDescriptor {
  const { node: rules } = inputs.rules;
  const { env, proxyConfig } = inputs;
  const warnings: string[] = [];
  const raw = readRawMetadata(rules, proxyConfig.proxyMetadata ?? {}, env, warnings);
  const { typed, refused } = decodeMetadata(raw, rules.typedKeys, warnings);
  const ownDiscovery =
    raw.has("METADATA_DISCOVERY") && !refused.has("METADATA_DISCOVERY")
      ? typed.get("METADATA_DISCOVERY") === "true"
      : undefined;
  setAgentKeys(typed, inputs, rules);
  const discovery = inputs.agent.metadataDiscovery ?? ownDiscovery ?? typed.get("ENABLE_HBONE") === "true";
  setKeys(typed, { METADATA_DISCOVERY: discovery ? "true" : rules.metadataDiscoveryAlways ? "false" : "" });
  const labels = setLabels(typed, inputs, rules, warnings);
  if (rules.canonicalFromEnv) setCanonicalLabels(labels.current, env);
  const annotations = setAnnotations(typed, inputs, rules, warnings);
  const locality = nodeLocality(labels.current, rules.localityLabels, inputs.platform.locality);
  setMap(typed, "LABELS", labels.current);
  if (rules.staticLabels) setMap(typed, "STATIC_LABELS", labels.fixed);
  setKeys(typed, { PILOT_SAN: inputs.agent.pilotSubjectAltNames, OUTLIER_LOG_PATH: inputs.agent.outlierLogPath });
  const extra = credentialKeys(inputs.agent);
  for (const key of typed.keys()) if (!rules.typedKeys.has(key)) typed.delete(key);
  const untyped = [...untypedValues(raw, typed, refused), ...Object.entries(extra).filter(([key]) => !typed.has(key))];
  const sortedTyped = inOrderDeep(Object.fromEntries(typed)) as JsonObject;
  const workload = {
    labels: labels.current,
    workloadName: String(typed.get("WORKLOAD_NAME") ?? ""),
    namespace: String(typed.get("NAMESPACE") ?? ""),
  };
  return {
    id: inputs.nodeId,
    cluster: serviceCluster(proxyConfig, workload, rules.clusterLabels),
    locality,
    typed: sortedTyped,
    metadata: inOrder([
      ...Object.entries(sortedTyped),
      ...untyped.map(([key, value]) => [key, inOrderDeep(value)] as const),
    ]),
    raw: new Map([...[...raw].map(([key, { value }]) => [key, value] as const), ...Object.entries(extra)]),
    annotations,
    warnings,
  };
}

function setAgentKeys(typed: TypedMetadata, inputs: BootstrapInputs, rules: NodeRules): void {
  const { agent, env, platform } = inputs;
  const flag = (on: boolean) => (on ? "true" : "");
  setKeys(typed, {
    ...rules.constants,
    ...rules.directKeys(env),
    ISTIO_VERSION: typed.get("ISTIO_VERSION") ?? agent.version,
    INSTANCE_IPS: [...new Set(inputs.nodeIps)].join(","),
    STS_PORT: agent.stsPort === 0 ? typed.get("STS_PORT") : String(agent.stsPort),
    ENVOY_STATUS_PORT: agent.envoyStatusPort,
    ENVOY_PROMETHEUS_PORT: agent.envoyPrometheusPort,
    ENVOY_SECURE_METRICS_PORT: agent.envoySecureMetricsPort,
    ENVOY_SECURE_MERGED_METRICS_PORT: agent.envoySecureMergedMetricsPort,
    EXIT_ON_ZERO_ACTIVE_CONNECTIONS: flag(agent.exitOnZeroActiveConnections),
    ENVOY_SKIP_DEPRECATED_LOGS: flag(agent.envoySkipDeprecatedLogs),
    WORKLOAD_IDENTITY_SOCKET_FILE: agent.workloadIdentitySocketFile,
    PROXY_CONFIG: inputs.proxyConfig,
    NAME: env.POD_NAME ?? typed.get("NAME"),
    NAMESPACE: env.POD_NAMESPACE ?? typed.get("NAMESPACE"),
    SERVICE_ACCOUNT: env.SERVICE_ACCOUNT ?? typed.get("SERVICE_ACCOUNT"),
    MESH_ID: typed.get("MESH_ID") ?? inputs.proxyConfig.meshId,
    PLATFORM_METADATA: Object.keys(platform.metadata).length > 0 ? platform.metadata : typed.get("PLATFORM_METADATA"),
  });
}

/** `fixed` are the labels that do not come from the pod's file; without that file both are one map, as in the reference. */
function setLabels(
  typed: TypedMetadata,
  inputs: BootstrapInputs,
  rules: NodeRules,
  warnings: string[],
): { readonly current: Map<string, string>; readonly fixed: Map<string, string> } {
  const fromEnv = readStaticLabels(inputs.env, warnings);
  const own = (key: string) => new Map(Object.entries((typed.get(key) ?? {}) as Record<string, string>));
  const fixed = fromEnv.size > 0 ? fromEnv : own("STATIC_LABELS");
  if (!inputs.platform.isKubernetes)
    for (const [key, value] of Object.entries(inputs.platform.labels)) fixed.set(key, value);
  const file = rules.readsPodFiles ? readPodFile("labels", inputs.podLabels, warnings) : undefined;
  if (file === undefined) return { current: fromEnv.size > 0 || fixed.size > 0 ? fixed : own("LABELS"), fixed };
  file.delete("pod-template-hash");
  return { current: new Map([...fixed, ...file]), fixed };
}

function setCanonicalLabels(labels: Map<string, string>, env: BootstrapInputs["env"]): void {
  const { CANONICAL_SERVICE: service, CANONICAL_REVISION: revision } = env;
  if (service && !labels.has(CANONICAL_NAME)) labels.set(CANONICAL_NAME, service);
  if (revision && !labels.has(CANONICAL_REVISION)) labels.set(CANONICAL_REVISION, revision);
}

function setAnnotations(
  typed: TypedMetadata,
  inputs: BootstrapInputs,
  rules: NodeRules,
  warnings: string[],
): ReadonlyMap<string, string> {
  const own = new Map(Object.entries((typed.get("ANNOTATIONS") ?? {}) as Record<string, string>));
  const file = rules.readsPodFiles ? readPodFile("annotations", inputs.podAnnotations, warnings) : undefined;
  const annotations = new Map([...own, ...(file ?? [])]);
  setMap(typed, "ANNOTATIONS", annotations);
  return annotations;
}

/** One bad line costs that line only, and is named. */
function readPodFile(what: string, text: string | null, warnings: string[]): Map<string, string> | undefined {
  if (text === null) return undefined;
  const { entries, problems } = parsePodInfo(text);
  for (const { line, message } of problems) warnings.push(`failed to read pod ${what}: line ${line}: ${message}`);
  return entries;
}

function credentialKeys(agent: AgentFacts): Readonly<Record<string, string>> {
  return {
    ...(agent.credentialSocketExists && { credential: "true" }),
    ...(agent.customCredentialsFileExists && { "file-credential": "true" }),
  };
}

function untypedValues(
  raw: ReadonlyMap<string, RawValue>,
  typed: TypedMetadata,
  refused: ReadonlySet<string>,
): readonly (readonly [string, unknown])[] {
  return [...raw]
    .filter(([key]) => !typed.has(key) && !refused.has(key))
    .map(([key, { value }]) => [key, value] as const);
}

function setKeys(typed: TypedMetadata, values: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(values)) {
    if (isEmptyValue(value)) typed.delete(key);
    else typed.set(key, value);
  }
}

function setMap(typed: TypedMetadata, key: string, map: ReadonlyMap<string, string>): void {
  setKeys(typed, { [key]: Object.fromEntries(map) });
}

function inOrderDeep(value: unknown): unknown {
  return sortKeys(value, compareText);
}

/** The members are in order already. */
function inOrder(entries: readonly (readonly [string, unknown])[]): JsonObject {
  return Object.fromEntries([...entries].sort(([left], [right]) => compareText(left, right)));
}

/**
 * The locality by label, else the platform's. Dots stand for slashes when there is no slash; the cleaned text goes back into the labels
 * under `istio-locality`, from where the control plane reads it.
 */
export function nodeLocality(labels: Map<string, string>, names: readonly string[], platform: Locality): Locality {
  const name = names.find((candidate) => labels.has(candidate));
  const label = name === undefined ? "" : (labels.get(name) ?? "");
  if (label === "") return definedParts(platform.region, platform.zone, platform.sub_zone);
  const cleaned = label.includes("/") ? label : label.replaceAll(".", "/");
  labels.set(LOCALITY_LABEL, cleaned);
  const [region, zone, subZone] = cleaned.split("/");
  return definedParts(region, zone, subZone);
}

function definedParts(region: string | undefined, zone: string | undefined, subZone: string | undefined): Locality {
  return { ...(region && { region }), ...(zone && { zone }), ...(subZone && { sub_zone: subZone }) };
}

interface WorkloadNames {
  readonly labels: ReadonlyMap<string, string>;
  readonly workloadName: string;
  readonly namespace: string;
}

/**
 * `node.cluster`: the name the workload's own telemetry carries. `defaultLabels` are the labels that stand in for the default name, in
 * order; null keeps the configured name as it is.
 */
export function serviceCluster(
  config: ProxyConfig,
  workload: WorkloadNames,
  defaultLabels: readonly string[] | null,
): string {
  if (defaultLabels === null) return config.serviceCluster ?? "";
  const orDefault = (name: string) => nameOrDefault(name, workload, defaultLabels);
  switch (config.tracingServiceName) {
    case "CANONICAL_NAME_ONLY":
      return orDefault(canonicalName(workload));
    case "CANONICAL_NAME_AND_NAMESPACE": {
      const canonical = canonicalName(workload);
      return workload.namespace === "" ? orDefault(canonical) : `${canonical}.${workload.namespace}`;
    }
    case "APP_LABEL_AND_NAMESPACE":
      return orDefault(DEFAULT_NAME);
    default:
      return orDefault(config.serviceCluster ?? DEFAULT_NAME);
  }
}

function nameOrDefault(name: string, workload: WorkloadNames, labels: readonly string[]): string {
  if (name !== "" && name !== DEFAULT_NAME) return name;
  const label = firstLabel(workload.labels, labels);
  if (label !== undefined) return `${label}.${workload.namespace}`;
  if (workload.workloadName !== "") return `${workload.workloadName}.${workload.namespace}`;
  return workload.namespace === "" ? DEFAULT_NAME : `${DEFAULT_NAME}.${workload.namespace}`;
}

function canonicalName(workload: WorkloadNames): string {
  return firstLabel(workload.labels, CANONICAL_LABELS) ?? (workload.workloadName || DEFAULT_NAME);
}

function firstLabel(labels: ReadonlyMap<string, string>, names: readonly string[]): string | undefined {
  const name = names.find((candidate) => labels.has(candidate));
  return name === undefined ? undefined : labels.get(name);
}
