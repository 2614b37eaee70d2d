import { createHash } from "node:crypto";
import { containerPorts } from "../builtin/inbound-ports.ts";
import { captureSecurity, coreDumpContainer } from "../builtin/init-container.ts";
import { canonicalLabels, excludedInboundPorts, isCniEnabled } from "../builtin/metadata.ts";
import { appendMultusNetwork } from "../builtin/multus.ts";
import { withoutNulls } from "../builtin/resources.ts";
import { DATA_VOLUME, PODINFO_VOLUME, pullSecrets, rootCertVolume, tokenVolume } from "../builtin/volumes.ts";
import {
  annotationOr,
  annotationsOf,
  INIT_CONTAINER,
  interceptionMode,
  labelsOf,
  type TemplateContext,
  VALIDATION_CONTAINER,
} from "../context.ts";
import { containerImage } from "../image.ts";
import { asList, asObject, type Json, objects } from "../json.ts";
import { rewriteAppProbes } from "../pipeline/app-probes.ts";
import { containersOf, withAnnotations, withLabels, withSpec } from "../pipeline/containers.ts";
import { type PodRequest, proxyEnvironment, withProxyEnv } from "../pipeline/inject-pod.ts";
import { STATUS_ANNOTATION, statusText } from "../pipeline/injection-status.ts";
import { mergeMetrics } from "../pipeline/metrics-merge.ts";
import { normalize } from "../schema/normalize.ts";
import type { InjectionSettings } from "../settings.ts";
import { renderSetting } from "../templates/text-template.ts";
import { legacyProxyContainer } from "./legacy-proxy-container.ts";

/** The record names the template by a hash; this shape has no text. */
const VERSION = createHash("sha256").update("pilot-agent sidecar 1.7").digest("hex");

/** A pod as 1.7 made it: what is added comes after what is there, and nothing is merged. */
export function legacyInjectPod(request: PodRequest, settings: InjectionSettings, by: "command" | "webhook"): Json {
  const { statusPort } = request;
  const pod = normalize("PodTemplateSpec", request.pod);
  const context: TemplateContext = { ...settings, ...request, pod };
  const init = interceptionMode(context) === "NONE" ? [] : [initContainer(context)];
  const added = {
    initContainers: [...init, ...coreDumpContainer(context)],
    containers: [legacyProxyContainer(context, appProbers(pod, context, settings), by)],
    volumes: volumes(context),
    ...pullSecrets(context),
  };
  const spec = asObject(pod.spec);
  const holds = settings.values.isSet("global.proxy.holdApplicationUntilProxyStarts");
  const withMetrics = (given: Json) => mergeMetrics(given, statusPort, settings.mesh.enablePrometheusMerge ?? true);
  // The command merges metrics before the proxy is there, hence without its environment variable.
  const merged = by === "command" ? withMetrics(pod) : pod;
  const rewritten = appProbesRewritten(merged, settings, statusPort, added.containers);
  const extended = withSpec(rewritten, {
    initContainers: [...asList(spec.initContainers), ...added.initContainers],
    containers: holds
      ? [...added.containers, ...containersOf(rewritten, "containers")]
      : [...containersOf(rewritten, "containers"), ...added.containers],
    volumes: [...asList(spec.volumes), ...added.volumes],
    imagePullSecrets: [...asList(spec.imagePullSecrets), ...asList(asObject(added).imagePullSecrets)],
    securityContext: { ...asObject(spec.securityContext), fsGroup: 1337 },
    ...dnsConfig(context),
  });
  const proxyEnv = proxyEnvironment(pod, request.proxyEnv, settings);
  const injected = by === "command" ? extended : withMetrics(withProxyEnv(extended, proxyEnv, false));
  const labeled = withLabels(injected, {
    ...labelsOf(pod),
    ...(by === "webhook" && canonicalLabels(context, false)),
    "security.istio.io/tlsMode": labelsOf(pod)["security.istio.io/tlsMode"] || "istio",
    "istio.io/rev": settings.revision,
  });
  const status = JSON.parse(statusText({ spec: added }, {})) as Json;
  return normalize(
    "PodTemplateSpec",
    withAnnotations(labeled, {
      ...annotationsOf(injected),
      ...(by === "command" && redirectAnnotations(context)),
      [STATUS_ANNOTATION]: JSON.stringify({ version: VERSION, ...status }),
    }),
  );
}

const SEARCHES = "global.podDNSSearchNamespaces";

/** Fewer dots where the agent answers names; else the searched namespaces of the values, each a template, after the pod's own. */
function dnsConfig(context: TemplateContext): Json {
  const given = asObject(asObject(context.pod.spec).dnsConfig);
  if (context.proxyConfig.proxyMetadata?.ISTIO_META_DNS_CAPTURE) {
    return { dnsConfig: { ...given, options: [{ name: "ndots", value: "4" }] } };
  }
  const searches = asList(context.values.get(SEARCHES)).map((source) =>
    renderSetting(SEARCHES, String(source), context),
  );
  return searches.length === 0 ? {} : { dnsConfig: { ...given, searches: [...asList(given.searches), ...searches] } };
}

/** Probes of the applications, as the proxy's variable has them. */
function appProbers(pod: Json, context: TemplateContext, settings: InjectionSettings): string {
  const proxy = { name: "istio-proxy", env: [] };
  const probed = withSpec(pod, { containers: [...containersOf(pod, "containers"), proxy] });
  const rewritten = rewriteAppProbes(probed, probeOptions(settings, context.proxyConfig.statusPort ?? 0));
  const found = objects(containersOf(rewritten, "containers").at(-1)?.env)[0];
  return typeof found?.value === "string" ? found.value : "{}";
}

function appProbesRewritten(pod: Json, settings: InjectionSettings, statusPort: number, proxy: readonly Json[]): Json {
  const probed = withSpec(pod, { containers: [...containersOf(pod, "containers"), ...proxy] });
  const rewritten = rewriteAppProbes(probed, probeOptions(settings, statusPort));
  return withSpec(rewritten, { containers: containersOf(rewritten, "containers").slice(0, -1) });
}

function probeOptions({ values, rules }: InjectionSettings, statusPort: number) {
  const isEnabledByValues = values.get("sidecarInjectorWebhook.rewriteAppHTTPProbe") === true;
  return { statusPort, isEnabledByValues, rules };
}

function initContainer(context: TemplateContext): Json {
  const { values, mesh, proxyConfig } = context;
  const traffic = "traffic.sidecar.istio.io/";
  const excluded = excludedInboundPorts(context);
  const cni = isCniEnabled(context);
  return {
    name: cni ? VALIDATION_CONTAINER : INIT_CONTAINER,
    image: containerImage(context, "proxy_init"),
    imagePullPolicy: values.text("global.imagePullPolicy") || "Always",
    args: [
      "istio-iptables",
      "-p",
      String(mesh.proxyListenPort || 15001),
      "-z",
      String(mesh.proxyInboundListenPort || 15006),
      "-u",
      "1337",
      "-m",
      interceptionMode(context),
      "-i",
      annotationOr(context, `${traffic}includeOutboundIPRanges`, "global.proxy.includeIPRanges"),
      "-x",
      annotationOr(context, `${traffic}excludeOutboundIPRanges`, "global.proxy.excludeIPRanges"),
      "-b",
      annotationOr(context, `${traffic}includeInboundPorts`, "global.proxy.includeInboundPorts"),
      "-d",
      excluded === "" ? "15090,15021" : `15090,15021,${excluded}`,
      ...optional(context, "-q", `${traffic}includeOutboundPorts`, "global.proxy.includeOutboundPorts"),
      ...optional(context, "-o", `${traffic}excludeOutboundPorts`, "global.proxy.excludeOutboundPorts"),
      ...optional(context, "-k", `${traffic}kubevirtInterfaces`, ""),
      ...(cni ? ["--run-validation", "--skip-rule-apply"] : []),
    ],
    env: Object.keys(proxyConfig.proxyMetadata ?? {})
      .sort()
      .map((name) => ({ name, value: proxyConfig.proxyMetadata?.[name] ?? "" })),
    resources: withoutNulls(values.get("global.proxy_init.resources")) ?? {},
    securityContext: captureSecurity(context, cni),
  };
}

function optional(context: TemplateContext, flag: string, annotation: string, path: string): readonly string[] {
  const value = annotationsOf(context.pod)[annotation] ?? (path === "" ? "" : context.values.text(path));
  return value === "" ? [] : [flag, value];
}

function volumes(context: TemplateContext): readonly Json[] {
  return [
    { name: "istio-envoy", emptyDir: { medium: "Memory" } },
    DATA_VOLUME,
    PODINFO_VOLUME,
    ...(context.values.text("global.jwtPolicy") === "third-party-jwt" ? [tokenVolume(context)] : []),
    ...rootCertVolume(context),
  ];
}

const NETWORKS = "k8s.v1.cni.cncf.io/networks";

/** Written with or without a CNI plug-in, where there is something to say. */
function redirectAnnotations(context: TemplateContext): Record<string, string> {
  const traffic = "traffic.sidecar.istio.io/";
  const given = annotationsOf(context.pod);
  const networks = given[NETWORKS] ?? "";
  const isMultus = isCniEnabled(context) && !context.values.isSet("istio_cni.chained");
  const all: Record<string, string> = {
    [NETWORKS]: isMultus ? appendMultusNetwork(networks, "istio-cni") : networks,
    "sidecar.istio.io/interceptionMode": interceptionMode(context),
    [`${traffic}includeOutboundIPRanges`]: annotationOr(
      context,
      `${traffic}includeOutboundIPRanges`,
      "global.proxy.includeIPRanges",
    ),
    [`${traffic}excludeOutboundIPRanges`]: annotationOr(
      context,
      `${traffic}excludeOutboundIPRanges`,
      "global.proxy.excludeIPRanges",
    ),
    [`${traffic}includeInboundPorts`]:
      given[`${traffic}includeInboundPorts`] ?? containerPorts(containersOf(context.pod, "containers")),
    [`${traffic}excludeInboundPorts`]: excludedInboundPorts(context),
    [`${traffic}includeOutboundPorts`]: annotationOr(
      context,
      `${traffic}includeOutboundPorts`,
      "global.proxy.includeOutboundPorts",
    ),
    [`${traffic}excludeOutboundPorts`]: annotationOr(
      context,
      `${traffic}excludeOutboundPorts`,
      "global.proxy.excludeOutboundPorts",
    ),
    [`${traffic}kubevirtInterfaces`]: given[`${traffic}kubevirtInterfaces`] ?? "",
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
}
