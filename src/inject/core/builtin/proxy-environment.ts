import { isJsonObject } from "../../../base/json-object.ts";
import { InjectError } from "../../inject-error.ts";
import { cleanProxyConfigText } from "../clean-proxy-config.ts";
import { annotationsOf, isInboundLocalhost, labelsOf, type TemplateContext } from "../context.ts";
import { asObject, goJson, type Json, objects } from "../json.ts";
import { appContainers } from "./metadata.ts";
import { otelResourceAttributes } from "./otel.ts";

export const BOOTSTRAP_OVERRIDE = "sidecar.istio.io/bootstrapOverride";

export function env(name: string, value: string): Json {
  return { name, value };
}

export function envIf(name: string, value: string): readonly Json[] {
  return value === "" ? [] : [env(name, value)];
}

function field(name: string, fieldPath: string): Json {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

export function limit(context: TemplateContext, name: string, resource: string): Json {
  const divisor = context.rules.sidecar.limitDivisor;
  return { name, valueFrom: { resourceFieldRef: { resource, ...(divisor !== undefined && { divisor }) } } };
}

/** The proxyMetadata of the ProxyConfig: this is how settings of the agent reach both containers. */
export function metadataEnv({ proxyConfig }: TemplateContext): readonly Json[] {
  return Object.entries(proxyConfig.proxyMetadata ?? {})
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => env(name, value));
}

function trustDomain({ mesh, values }: TemplateContext): string {
  return mesh.trustDomain || values.text("global.trustDomain");
}

export function caEnv({ values }: TemplateContext): readonly Json[] {
  const revision = values.text("revision");
  const istiod = `istiod${revision === "" ? "" : `-${revision}`}.${values.text("global.istioNamespace")}.svc:15012`;
  return [
    env("PILOT_CERT_PROVIDER", values.text("global.pilotCertProvider")),
    env("CA_ADDR", values.text("global.caAddress") || istiod),
  ];
}

export function localhostEnv(context: TemplateContext): readonly Json[] {
  return isInboundLocalhost(context) ? [env("REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION", "true")] : [];
}

export const POD_FIELDS: readonly Json[] = [
  field("POD_NAME", "metadata.name"),
  field("POD_NAMESPACE", "metadata.namespace"),
  field("INSTANCE_IP", "status.podIP"),
  field("SERVICE_ACCOUNT", "spec.serviceAccountName"),
  field("HOST_IP", "status.hostIP"),
];

export function configEnv(context: TemplateContext): readonly Json[] {
  const { pod, proxyConfig, proxyConfigRules } = context;
  return [
    env("PROXY_CONFIG", `${cleanProxyConfigText(proxyConfig, proxyConfigRules)}\n`),
    env("ISTIO_META_POD_PORTS", podPorts(pod)),
  ];
}

function podPorts(pod: Json): string {
  const ports = objects(asObject(pod.spec).containers).flatMap((container) => objects(container.ports));
  return ["[", ...ports.map((port, index) => `    ${index > 0 ? "," : ""}${goJson(port)}`), "]"].join("\n");
}

export function appContainersEnv(context: TemplateContext): Json {
  return env("ISTIO_META_APP_CONTAINERS", appContainers(context).join(","));
}

export function memoryEnv(context: TemplateContext): readonly Json[] {
  const { compliancePolicy, rules } = context;
  return [
    limit(context, "GOMEMLIMIT", "limits.memory"),
    ...(rules.sidecar.goMaxProcs ? [limit(context, "GOMAXPROCS", "limits.cpu")] : []),
    ...(rules.sidecar.complianceEnv ? envIf("COMPLIANCE_POLICY", compliancePolicy) : []),
    ...(rules.sidecar.complianceEnv && compliancePolicy === "fips-140-3" ? [env("GODEBUG", "fips140=only")] : []),
  ];
}

export function clusterEnv({ values }: TemplateContext): readonly Json[] {
  return [
    env("ISTIO_META_CLUSTER_ID", values.text("global.multiCluster.clusterName") || "Kubernetes"),
    field("ISTIO_META_NODE_NAME", "spec.nodeName"),
  ];
}

export function networkEnv({ values }: TemplateContext): readonly Json[] {
  return envIf("ISTIO_META_NETWORK", values.text("global.network"));
}

export function workloadEnv({ pod, owner }: TemplateContext, readsLabel: boolean): readonly Json[] {
  const label = readsLabel ? labelsOf(pod)["service.istio.io/workload-name"] : undefined;
  return [...envIf("ISTIO_META_WORKLOAD_NAME", label || owner.name), ...ownerEnv(owner)];
}

export function ownerEnv({ apiVersion, name, namespace, kind }: TemplateContext["owner"]): readonly Json[] {
  if (apiVersion === "" || name === "") return [];
  const resource = `namespaces/${namespace || "default"}/${kind.toLowerCase()}s/${name}`;
  return [env("ISTIO_META_OWNER", `kubernetes://apis/${apiVersion}/${resource}`)];
}

export function bootstrapOverrideEnv({ pod }: TemplateContext): readonly Json[] {
  if (annotationsOf(pod)[BOOTSTRAP_OVERRIDE] === undefined) return [];
  return [env("ISTIO_BOOTSTRAP_OVERRIDE", "/etc/istio/custom-bootstrap/custom_bootstrap.json")];
}

export function meshEnv(context: TemplateContext): readonly Json[] {
  const domain = trustDomain(context);
  return [
    ...envIf("ISTIO_META_MESH_ID", context.values.text("global.meshID") || domain),
    ...envIf("TRUST_DOMAIN", domain),
  ];
}

export function datadogEnv({ pod, values }: TemplateContext): readonly Json[] {
  if (values.text("global.proxy.tracer") !== "datadog") return [];
  return Object.entries(jsonAnnotation(pod, "apm.datadoghq.com/env")).map(([name, value]) =>
    env(name, typeof value === "string" ? value : JSON.stringify(value)),
  );
}

export function otelEnv({ mesh, pod, owner, rules }: TemplateContext): readonly Json[] {
  if (!rules.sidecar.otelEnv) return [];
  const containers = objects(asObject(pod.spec).containers);
  const text = otelResourceAttributes(mesh, annotationsOf(pod), labelsOf(pod), owner.namespace, containers);
  return envIf("OTEL_RESOURCE_ATTRIBUTES", text);
}

/** An annotation that holds a JSON object, members sorted; absent is empty. */
export function jsonAnnotation(pod: Json, name: string): Json {
  const text = annotationsOf(pod)[name];
  if (text === undefined) return {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (isJsonObject(parsed))
      return Object.fromEntries(Object.entries(parsed).sort(([left], [right]) => (left < right ? -1 : 1)));
  } catch {
    // Reported below, with what is allowed.
  }
  throw new InjectError(
    "invalid-annotation",
    `invalid value '${text}' for annotation '${name}': allowed is a JSON object`,
  );
}
