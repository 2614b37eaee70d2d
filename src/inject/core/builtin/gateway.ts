import { PROXY_CONTAINER, type TemplateContext } from "../context.ts";
import { containerImage } from "../image.ts";
import type { Json } from "../json.ts";
import { canonicalLabels, commonAnnotations } from "./metadata.ts";
import * as environment from "./proxy-environment.ts";
import { proxyArgs } from "./sidecar.ts";
import * as volumes from "./volumes.ts";

/** A pod that is nothing but a proxy: the user's istio-proxy container is filled in. */
export function gatewayTemplate(context: TemplateContext): Json {
  const { values } = context;
  return {
    metadata: { labels: canonicalLabels(context, false), annotations: commonAnnotations(context) },
    spec: {
      securityContext: values.isSet("gateways.securityContext")
        ? values.get("gateways.securityContext")
        : { sysctls: [{ name: "net.ipv4.ip_unprivileged_port_start", value: "0" }] },
      containers: [gatewayContainer(context)],
      volumes: gatewayVolumes(context),
      ...volumes.pullSecrets(context),
    },
  };
}

function gatewayContainer(context: TemplateContext): Json {
  const { values, proxyUid, proxyGid } = context;
  return {
    name: PROXY_CONTAINER,
    image: containerImage(context, "proxy"),
    ports: [{ containerPort: 15090, protocol: "TCP", name: "http-envoy-prom" }],
    args: proxyArgs(context, "router"),
    ...(values.isSet("global.proxy.lifecycle") && { lifecycle: values.get("global.proxy.lifecycle") }),
    securityContext: { runAsUser: proxyUid, runAsGroup: proxyGid },
    env: gatewayEnv(context),
    imagePullPolicy: values.text("global.imagePullPolicy"),
    readinessProbe: {
      httpGet: { path: "/healthz/ready", port: 15021 },
      initialDelaySeconds: values.get("global.proxy.readinessInitialDelaySeconds"),
      periodSeconds: values.get("global.proxy.readinessPeriodSeconds"),
      timeoutSeconds: 3,
      failureThreshold: values.get("global.proxy.readinessFailureThreshold"),
    },
    volumeMounts: gatewayMounts(context),
  };
}

function gatewayEnv(context: TemplateContext): readonly Json[] {
  const { proxyConfig, rules, values } = context;
  return [
    ...(rules.sidecar.jwtPolicyEnv ? [environment.env("JWT_POLICY", values.text("global.jwtPolicy"))] : []),
    ...environment.caEnv(context),
    ...environment.POD_FIELDS,
    environment.limit(context, "ISTIO_CPU_LIMIT", "limits.cpu"),
    ...environment.configEnv(context),
    ...environment.memoryEnv(context),
    environment.appContainersEnv(context),
    ...environment.clusterEnv(context),
    environment.env("ISTIO_META_INTERCEPTION_MODE", proxyConfig.interceptionMode ?? "REDIRECT"),
    ...environment.networkEnv(context),
    ...environment.workloadEnv(context, false),
    ...environment.bootstrapOverrideEnv(context),
    ...environment.meshEnv(context),
    ...environment.metadataEnv(context),
  ];
}

function gatewayMounts(context: TemplateContext): readonly Json[] {
  const { mount } = volumes;
  return [
    mount("/var/run/secrets/workload-spiffe-uds", "workload-socket"),
    mount("/var/run/secrets/credential-uds", "credential-socket"),
    volumes.workloadCertsMount(context),
    ...(volumes.usesIstiodCerts(context) ? [mount("/var/run/secrets/istio", "istiod-ca-cert")] : []),
    mount("/var/lib/istio/data", "istio-data"),
    ...volumes.bootstrapMount(context),
    mount("/etc/istio/proxy", "istio-envoy"),
    mount("/var/run/secrets/tokens", "istio-token"),
    ...volumes.certsMount(context),
    mount("/etc/istio/pod", "istio-podinfo"),
  ];
}

function gatewayVolumes(context: TemplateContext): readonly Json[] {
  return [
    { name: "workload-socket" },
    { name: "credential-socket", emptyDir: {} },
    volumes.workloadCertsVolume(context, { emptyDir: {} }),
    ...volumes.bootstrapVolume(context),
    { name: "istio-envoy", emptyDir: { medium: "Memory" } },
    volumes.DATA_VOLUME,
    volumes.PODINFO_VOLUME,
    volumes.tokenVolume(context),
    ...volumes.rootCertVolume(context),
    ...volumes.certsVolume(context),
  ];
}
