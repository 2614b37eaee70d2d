import * as environment from "../builtin/proxy-environment.ts";
import { proxyResources } from "../builtin/resources.ts";
import { sidecarSecurityContext } from "../builtin/security-context.ts";
import { readinessTimes } from "../builtin/sidecar.ts";
import { certsMount, mount, userMounts, usesIstiodCerts } from "../builtin/volumes.ts";
import {
  annotationOr,
  annotationsOf,
  interceptionMode,
  labelsOf,
  PROXY_CONTAINER,
  statusPortText,
  type TemplateContext,
} from "../context.ts";
import { containerImage } from "../image.ts";
import { asObject, type Json, objects } from "../json.ts";
import { sortedJson } from "../pipeline/app-probes.ts";

const ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The proxy of 1.7. `probers` is what the agent asks the application. */
export function legacyProxyContainer(context: TemplateContext, probers: string, by: "command" | "webhook"): Json {
  const { values } = context;
  const hasToken = values.text("global.jwtPolicy") === "third-party-jwt";
  return {
    name: PROXY_CONTAINER,
    image: containerImage(context, "proxy"),
    imagePullPolicy: values.text("global.imagePullPolicy") || "Always",
    ports: [{ containerPort: 15090, protocol: "TCP", name: "http-envoy-prom" }],
    args: args(context),
    env: env(context, probers),
    ...(statusPortText(context) !== "0" && {
      readinessProbe: { httpGet: { path: "/healthz/ready", port: 15021 }, ...readinessTimes(context) },
    }),
    resources: proxyResources(context),
    securityContext: sidecarSecurityContext(context),
    volumeMounts: [
      ...(usesIstiodCerts(context) ? [mount("/var/run/secrets/istio", "istiod-ca-cert")] : []),
      mount("/var/lib/istio/data", "istio-data"),
      mount("/etc/istio/proxy", "istio-envoy"),
      ...(hasToken ? [mount("/var/run/secrets/tokens", "istio-token")] : []),
      ...certsMount(context),
      mount("/etc/istio/pod", "istio-podinfo"),
      ...userMounts(context),
      // Of a pod that is created, which has the account's token in all its containers.
      ...(by === "webhook" ? accountMounts(context.pod) : []),
    ],
  };
}

function accountMounts(pod: Json): readonly Json[] {
  return objects(asObject(pod.spec).containers)
    .flatMap(({ volumeMounts }) => objects(volumeMounts))
    .filter(({ mountPath }) => mountPath === ACCOUNT_FOLDER)
    .slice(0, 1);
}

function args(context: TemplateContext): readonly string[] {
  const { values, pod, owner } = context;
  const { app } = labelsOf(pod);
  const serviceCluster = app
    ? `${app}.$(POD_NAMESPACE)`
    : `${owner.name || "istio-proxy"}.${owner.namespace || "default"}`;
  const concurrency = concurrencyOf(context);
  return [
    "proxy",
    "sidecar",
    "--domain",
    `$(POD_NAMESPACE).svc.${values.text("global.proxy.clusterDomain")}`,
    "--serviceCluster",
    serviceCluster,
    `--proxyLogLevel=${annotationOr(context, "sidecar.istio.io/logLevel", "global.proxy.logLevel")}`,
    `--proxyComponentLogLevel=${annotationOr(context, "sidecar.istio.io/componentLogLevel", "global.proxy.componentLogLevel")}`,
    ...(values.isSet("global.sts.servicePort") ? [`--stsPort=${values.text("global.sts.servicePort")}`] : []),
    ...(values.isSet("global.trustDomain") ? [`--trust-domain=${values.text("global.trustDomain")}`] : []),
    ...(values.isSet("global.logAsJson") ? ["--log_as_json"] : []),
    ...(concurrency > 0 ? ["--concurrency", String(concurrency)] : []),
  ];
}

/** Threads of Envoy: as configured, else enough for the CPU it may use. */
function concurrencyOf(context: TemplateContext): number {
  const { concurrency } = context.proxyConfig;
  if (concurrency !== undefined && concurrency !== null) return concurrency;
  const { limits, requests } = proxyResources(context);
  const cpu = String(asObject(limits).cpu ?? asObject(requests).cpu ?? "0");
  return Math.ceil(cpu.endsWith("m") ? Number(cpu.slice(0, -1)) / 1000 : Number(cpu)) || 0;
}

function env(context: TemplateContext, probers: string): readonly Json[] {
  const { values, pod, owner } = context;
  const label = (name: string, key: string): Json => ({
    name,
    valueFrom: { fieldRef: { fieldPath: `metadata.labels['service.istio.io/${key}']` } },
  });
  const annotations = annotationsOf(pod);
  const names = objects(asObject(pod.spec).containers).map(({ name }) => String(name));
  const [cluster] = environment.clusterEnv(context);
  const [meshId] = environment.meshEnv(context);
  return [
    environment.env("JWT_POLICY", values.text("global.jwtPolicy")),
    ...environment.caEnv(context),
    ...environment.POD_FIELDS,
    label("CANONICAL_SERVICE", "canonical-name"),
    label("CANONICAL_REVISION", "canonical-revision"),
    ...environment.configEnv(context),
    environment.env("ISTIO_META_APP_CONTAINERS", names.join(",")),
    ...(cluster === undefined ? [] : [cluster]),
    environment.env("ISTIO_META_INTERCEPTION_MODE", interceptionMode(context)),
    ...environment.networkEnv(context),
    ...(Object.keys(annotations).length > 0
      ? [environment.env("ISTIO_METAJSON_ANNOTATIONS", `${sortedJson(annotations)}\n`)]
      : []),
    ...environment.envIf("ISTIO_META_WORKLOAD_NAME", owner.name),
    ...environment.ownerEnv(owner),
    ...environment.bootstrapOverrideEnv(context),
    ...(meshId?.name === "ISTIO_META_MESH_ID" ? [meshId] : []),
    ...environment.metadataEnv(context),
    environment.env("ISTIO_KUBE_APP_PROBERS", probers),
  ];
}
