import { PROXY_CONTAINER, statusPortText, type TemplateContext } from "../context.ts";
import { containerImage } from "../image.ts";
import type { Json } from "../json.ts";
import { appContainers, canonicalLabels, commonAnnotations } from "./metadata.ts";
import * as environment from "./proxy-environment.ts";
import { proxyResources } from "./resources.ts";
import { proxyArgs, readinessTimes } from "./sidecar.ts";
import * as volumes from "./volumes.ts";

/** gRPC applications that speak xDS themselves, with an agent beside them for certificates and the bootstrap file. */
export function grpcAgentTemplate(context: TemplateContext): Json {
  return {
    metadata: {
      labels: canonicalLabels(context, false),
      annotations: { ...commonAnnotations(context), "sidecar.istio.io/rewriteAppHTTPProbers": "false" },
    },
    spec: {
      containers: [agentContainer(context), ...appContainers(context).map((name) => appContainer(context, name))],
      volumes: agentVolumes(context),
      ...volumes.pullSecrets(context),
    },
  };
}

function agentContainer(context: TemplateContext): Json {
  const { values } = context;
  const command = ["pilot-agent", "wait", "--url=http://localhost:15020/healthz/ready"];
  return {
    name: PROXY_CONTAINER,
    image: containerImage(context, "proxy"),
    ports: [{ containerPort: 15020, protocol: "TCP", name: "mesh-metrics" }],
    args: proxyArgs(context, "sidecar"),
    lifecycle: { postStart: { exec: { command } } },
    env: agentEnv(context),
    imagePullPolicy: values.text("global.imagePullPolicy"),
    // Without a status port the reference's template leaves out what follows it as well.
    ...(statusPortText(context) !== "0" && {
      readinessProbe: {
        httpGet: { path: "/healthz/ready", port: 15020 },
        timeoutSeconds: 3,
        ...readinessTimes(context),
      },
      resources: proxyResources(context),
    }),
    volumeMounts: [...(statusPortText(context) === "0" ? [] : agentMounts(context)), ...volumes.userMounts(context)],
  };
}

function agentEnv(context: TemplateContext): readonly Json[] {
  const { env } = environment;
  return [
    env("ISTIO_META_GENERATOR", "grpc"),
    env("OUTPUT_CERTS", "/var/lib/istio/data"),
    ...environment.localhostEnv(context),
    ...environment.caEnv(context),
    ...environment.POD_FIELDS,
    ...environment.configEnv(context),
    environment.appContainersEnv(context),
    ...environment.clusterEnv(context),
    ...environment.networkEnv(context),
    ...environment.workloadEnv(context, false),
    ...environment.meshEnv(context),
    ...environment.metadataEnv(context),
    // gRPC resolves xds:/// names itself.
    env("ISTIO_META_DNS_CAPTURE", "false"),
    env("DISABLE_ENVOY", "true"),
  ];
}

function agentMounts(context: TemplateContext): readonly Json[] {
  const { mount } = volumes;
  return [
    mount("/var/run/secrets/workload-spiffe-uds", "workload-socket"),
    volumes.workloadCertsMount(context),
    ...(volumes.usesIstiodCerts(context) ? [mount("/var/run/secrets/istio", "istiod-ca-cert")] : []),
    mount("/var/lib/istio/data", "istio-data"),
    mount("/etc/istio/proxy", "istio-xds"),
    mount("/var/run/secrets/tokens", "istio-token"),
    ...volumes.certsMount(context),
    mount("/etc/istio/pod", "istio-podinfo"),
  ];
}

function appContainer(context: TemplateContext, name: string): Json {
  const { mount } = volumes;
  return {
    name,
    env: [
      environment.env("GRPC_XDS_EXPERIMENTAL_SECURITY_SUPPORT", "true"),
      environment.env("GRPC_XDS_BOOTSTRAP", "/etc/istio/proxy/grpc-bootstrap.json"),
    ],
    volumeMounts: [
      mount("/var/lib/istio/data", "istio-data"),
      mount("/etc/istio/proxy", "istio-xds"),
      volumes.workloadCertsMount(context),
    ],
  };
}

function agentVolumes(context: TemplateContext): readonly Json[] {
  return [
    { name: "workload-socket" },
    volumes.workloadCertsVolume(context, {}),
    ...volumes.bootstrapVolume(context),
    { name: "istio-xds", emptyDir: { medium: "Memory" } },
    volumes.DATA_VOLUME,
    volumes.PODINFO_VOLUME,
    volumes.tokenVolume(context),
    ...volumes.rootCertVolume(context),
    ...volumes.certsVolume(context),
    ...volumes.userVolumes(context),
  ];
}
