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
import type { Json } from "../json.ts";
import { isNative } from "../native-sidecar.ts";
import { coreDumpContainer, initContainer } from "./init-container.ts";
import { canonicalLabels, cniAnnotations, commonAnnotations } from "./metadata.ts";
import * as environment from "./proxy-environment.ts";
import { proxyResources } from "./resources.ts";
import { sidecarSecurityContext } from "./security-context.ts";
import * as volumes from "./volumes.ts";

/** The partial pod of a sidecar: init container, proxy, volumes, labels and annotations. */
export function sidecarTemplate(context: TemplateContext): Json {
  const native = isNative(annotationsOf(context.pod)["sidecar.istio.io/nativeSidecar"], context.native, context.rules);
  const captures = interceptionMode(context) !== "NONE";
  const proxy = proxyContainer(context, native);
  const initContainers = [
    ...(captures ? [initContainer(context)] : []),
    ...(captures || native ? coreDumpContainer(context) : []),
    ...(native ? [proxy] : []),
  ];
  return {
    metadata: {
      labels: { ...modeLabels(context), ...canonicalLabels(context, context.rules.sidecar.truncatesCanonicalName) },
      annotations: { ...commonAnnotations(context), ...cniAnnotations(context) },
    },
    spec: {
      initContainers,
      ...(!native && { containers: [proxy] }),
      volumes: sidecarVolumes(context),
      ...volumes.pullSecrets(context),
    },
  };
}

function modeLabels({ pod, proxyConfig }: TemplateContext): Json {
  const labels = labelsOf(pod);
  return {
    "security.istio.io/tlsMode": labels["security.istio.io/tlsMode"] || "istio",
    ...(proxyConfig.proxyMetadata?.ISTIO_META_ENABLE_HBONE === "true" && {
      "networking.istio.io/tunnel": labels["networking.istio.io/tunnel"] || "http",
    }),
  };
}

function proxyContainer(context: TemplateContext, native: boolean): Json {
  const { values } = context;
  return {
    name: PROXY_CONTAINER,
    image: containerImage(context, "proxy"),
    ...(native && { restartPolicy: "Always" }),
    ports: [{ containerPort: 15090, protocol: "TCP", name: "http-envoy-prom" }],
    args: [...proxyArgs(context, "sidecar"), ...outlierLog(context)],
    ...lifecycle(context, native),
    env: sidecarEnv(context),
    imagePullPolicy: values.text("global.imagePullPolicy"),
    ...probes(context),
    securityContext: sidecarSecurityContext(context),
    resources: proxyResources(context),
    volumeMounts: sidecarMounts(context),
  };
}

export function proxyArgs(context: TemplateContext, role: "sidecar" | "router"): readonly string[] {
  const { values } = context;
  const stsPort = values.isSet("global.sts.servicePort") ? [`--stsPort=${values.text("global.sts.servicePort")}`] : [];
  return [
    "proxy",
    role,
    "--domain",
    `$(POD_NAMESPACE).svc.${values.text("global.proxy.clusterDomain")}`,
    `--proxyLogLevel=${annotationOr(context, "sidecar.istio.io/logLevel", "global.proxy.logLevel")}`,
    `--proxyComponentLogLevel=${annotationOr(context, "sidecar.istio.io/componentLogLevel", "global.proxy.componentLogLevel")}`,
    `--log_output_level=${annotationOr(context, "sidecar.istio.io/agentLogLevel", "global.logging.level")}`,
    ...stsPort,
    ...(values.isSet("global.logAsJson") ? ["--log_as_json"] : []),
  ];
}

function outlierLog({ values, rules }: TemplateContext): readonly string[] {
  const path = values.text("global.proxy.outlierLogPath");
  return rules.sidecar.newFlags && path !== "" ? [`--outlierLogPath=${path}`] : [];
}

function lifecycle(context: TemplateContext, native: boolean): Json {
  const { values, proxyConfig, rules } = context;
  if (values.isSet("global.proxy.lifecycle")) return { lifecycle: values.get("global.proxy.lifecycle") };
  const holds =
    proxyConfig.holdApplicationUntilProxyStarts === true ||
    values.isSet("global.proxy.holdApplicationUntilProxyStarts");
  if (holds && !native) return { lifecycle: { postStart: { exec: { command: ["pilot-agent", "wait"] } } } };
  if (!native || !rules.sidecar.drainHook) return {};
  // Draining starts with the pod's end; SIGTERM comes once the applications are gone.
  const command = ["pilot-agent", "request", `--debug-port=${statusPortText(context)}`, "POST", "drain"];
  return { lifecycle: { preStop: { exec: { command } } } };
}

function sidecarEnv(context: TemplateContext): readonly Json[] {
  const { values, rules, pod, proxyConfig } = context;
  const mode = annotationsOf(pod)["sidecar.istio.io/interceptionMode"] || (proxyConfig.interceptionMode ?? "REDIRECT");
  return [
    ...environment.localhostEnv(context),
    ...(rules.sidecar.jwtPolicyEnv ? [environment.env("JWT_POLICY", values.text("global.jwtPolicy"))] : []),
    ...environment.caEnv(context),
    ...environment.POD_FIELDS,
    environment.limit(context, "ISTIO_CPU_LIMIT", "limits.cpu"),
    ...environment.configEnv(context),
    environment.appContainersEnv(context),
    ...environment.memoryEnv(context),
    ...environment.clusterEnv(context),
    environment.env("ISTIO_META_INTERCEPTION_MODE", mode),
    ...environment.networkEnv(context),
    ...environment.workloadEnv(context, rules.sidecar.workloadNameLabel),
    ...environment.bootstrapOverrideEnv(context),
    ...environment.meshEnv(context),
    ...environment.datadogEnv(context),
    ...environment.otelEnv(context),
    ...environment.metadataEnv(context),
  ];
}

const READY = { httpGet: { path: "/healthz/ready", port: 15021 }, timeoutSeconds: 3 };

function probes(context: TemplateContext): Json {
  const { values } = context;
  if (statusPortText(context) === "0") return {};
  const failureThreshold = values.get("global.proxy.startupProbe.failureThreshold");
  const startup = { ...READY, periodSeconds: 1, failureThreshold };
  return {
    ...(values.isSet("global.proxy.startupProbe.enabled") && { startupProbe: startup }),
    readinessProbe: { ...READY, ...readinessTimes(context) },
  };
}

export function readinessTimes(context: TemplateContext): Json {
  const seconds = (name: string, path: string) =>
    Number(annotationOr(context, `readiness.status.sidecar.istio.io/${name}`, `global.proxy.${path}`));
  return {
    initialDelaySeconds: seconds("initialDelaySeconds", "readinessInitialDelaySeconds"),
    periodSeconds: seconds("periodSeconds", "readinessPeriodSeconds"),
    failureThreshold: seconds("failureThreshold", "readinessFailureThreshold"),
  };
}

function hasToken({ values, rules }: TemplateContext): boolean {
  return !rules.sidecar.tokenOnlyForThirdPartyJwt || values.text("global.jwtPolicy") === "third-party-jwt";
}

function usesKubernetesCa({ values, rules }: TemplateContext): boolean {
  return rules.sidecar.kubernetesCaVolume && values.text("global.pilotCertProvider") === "kubernetes";
}

function sidecarMounts(context: TemplateContext): readonly Json[] {
  const { mount } = volumes;
  const { crlVolume } = context.rules.sidecar;
  return [
    mount("/var/run/secrets/workload-spiffe-uds", "workload-socket"),
    mount("/var/run/secrets/credential-uds", "credential-socket"),
    volumes.workloadCertsMount(context),
    ...(usesKubernetesCa(context) ? [mount("/var/run/secrets/istio/kubernetes", "kube-ca-cert")] : []),
    ...(volumes.usesIstiodCerts(context) ? [mount("/var/run/secrets/istio", "istiod-ca-cert")] : []),
    ...(volumes.usesIstiodCerts(context) && crlVolume ? [mount("/var/run/secrets/istio/crl", "istio-ca-crl")] : []),
    mount("/var/lib/istio/data", "istio-data"),
    ...volumes.bootstrapMount(context),
    mount("/etc/istio/proxy", "istio-envoy"),
    ...(hasToken(context) ? [mount("/var/run/secrets/tokens", "istio-token")] : []),
    ...volumes.certsMount(context),
    mount("/etc/istio/pod", "istio-podinfo"),
    ...volumes.lightstepMount(context),
    ...volumes.userMounts(context),
  ];
}

function sidecarVolumes(context: TemplateContext): readonly Json[] {
  const crl = {
    name: "istio-ca-crl",
    configMap: { name: context.values.text("pilot.crlConfigMapName") || "istio-ca-crl", optional: true },
  };
  return [
    { name: "workload-socket" },
    { name: "credential-socket" },
    volumes.workloadCertsVolume(context, {}),
    ...volumes.bootstrapVolume(context),
    { name: "istio-envoy", emptyDir: { medium: "Memory" } },
    volumes.DATA_VOLUME,
    volumes.PODINFO_VOLUME,
    ...(hasToken(context) ? [volumes.tokenVolume(context)] : []),
    ...(usesKubernetesCa(context) ? [{ name: "kube-ca-cert", configMap: { name: "kube-root-ca.crt" } }] : []),
    ...volumes.rootCertVolume(context),
    ...(context.rules.sidecar.crlVolume ? [crl] : []),
    ...volumes.certsVolume(context),
    ...volumes.userVolumes(context),
    ...volumes.lightstepVolume(context),
  ];
}
