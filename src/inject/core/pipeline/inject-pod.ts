import type { ProxyConfig } from "../../../istio-api/proxy-config/proxy-config.ts";
import { annotationsOf, labelsOf, type TemplateContext } from "../context.ts";
import { type Json, objects } from "../json.ts";
import type { WorkloadOwner } from "../owner.ts";
import { createNormalizer } from "../schema/normalize.ts";
import type { InjectionSettings } from "../settings.ts";
import { rewriteAppProbes } from "./app-probes.ts";
import { findProxy, withAnnotations, withLabels, withProxy } from "./containers.ts";
import { readStatus, STATUS_ANNOTATION, statusText } from "./injection-status.ts";
import { annotateSecurePort, mergeMetrics } from "./metrics-merge.ts";
import { orderContainers } from "./order-containers.ts";
import { renderTemplates } from "./render-templates.ts";
import { delayApplicationStop } from "./stop-delay.ts";
import { stripPod } from "./strip-pod.ts";
import { reapplyOverrides } from "./user-overrides.ts";

export interface PodRequest {
  /** Metadata and spec; the annotations are checked. */
  readonly pod: Json;
  readonly owner: WorkloadOwner;
  /** The effective ProxyConfig of the pod. */
  readonly proxyConfig: ProxyConfig;
  /** The port of metrics and probes, as the mesh says. */
  readonly statusPort: number;
  readonly proxyUid: number;
  readonly proxyGid: number;
  /** Variables of the webhook's path, for the proxy. */
  readonly proxyEnv: Readonly<Record<string, string>>;
}

export const PROXY_ID = 1337;

/** The pod with the proxy in it. Pure; rejects with an InjectError for what cannot be injected. */
export function injectPod(request: PodRequest, settings: InjectionSettings, normalize = createNormalizer()): Json {
  const { owner, proxyConfig, statusPort } = request;
  const { values, mesh, rules, revision } = settings;
  const pod = normalize("PodTemplateSpec", request.pod);
  const proxyEnv = proxyEnvironment(pod, request.proxyEnv, settings);
  const context: TemplateContext = {
    ...settings,
    pod: normalize("PodTemplateSpec", stripPod(pod, statusPort)),
    owner,
    proxyConfig,
    proxyUid: request.proxyUid,
    proxyGid: request.proxyGid,
  };
  const { merged, templatePod } = renderTemplates(pod, context, settings, normalize);
  let result = reapplyOverrides(merged, pod, templatePod, proxyConfig.interceptionMode ?? "REDIRECT", normalize);
  result = withProxyEnv(result, proxyEnv, readStatus(pod) !== undefined);
  result = mergeMetrics(result, statusPort, mesh.enablePrometheusMerge ?? true);
  result = annotateSecurePort(result);
  result = rewriteAppProbes(result, {
    statusPort,
    isEnabledByValues: values.get("sidecarInjectorWebhook.rewriteAppHTTPProbe") === true,
    rules,
  });
  result = delayApplicationStop(result);
  const network = proxyEnv.ISTIO_META_NETWORK;
  if (network !== undefined) result = withLabels(result, { ...labelsOf(result), "topology.istio.io/network": network });
  const status = statusText(templatePod, { revision: revision || "default" });
  result = withAnnotations(result, {
    ...annotationsOf(result),
    [STATUS_ANNOTATION]: status,
    ...settings.injectedAnnotations,
  });
  const holds =
    proxyConfig.holdApplicationUntilProxyStarts === true ||
    values.get("global.proxy.holdApplicationUntilProxyStarts") === true;
  return normalize("PodTemplateSpec", orderContainers(result, holds));
}

/** Cluster and network: the webhook's path beats the values, the pod's label beats both. */
export function proxyEnvironment(
  pod: Json,
  given: Readonly<Record<string, string>>,
  { values }: InjectionSettings,
): Readonly<Record<string, string>> {
  const cluster = given.ISTIO_META_CLUSTER_ID || values.text("global.multiCluster.clusterName");
  const network =
    labelsOf(pod)["topology.istio.io/network"] ?? (given.ISTIO_META_NETWORK || values.text("global.network"));
  return {
    ...given,
    ...(cluster !== "" && { ISTIO_META_CLUSTER_ID: cluster }),
    ...(network !== "" && { ISTIO_META_NETWORK: network }),
  };
}

/** Variables that later steps append; on a second injection they are there already and stay last. */
const APPENDED = ["ISTIO_PROMETHEUS_ANNOTATIONS", "ISTIO_KUBE_APP_PROBERS"];

export function withProxyEnv(pod: Json, variables: Readonly<Record<string, string>>, wasInjected: boolean): Json {
  const names = Object.keys(variables).sort();
  if (names.length === 0 || findProxy(pod) === undefined) return pod;
  return withProxy(pod, (proxy) => {
    const others = objects(proxy.env).filter(({ name }) => !names.includes(String(name)));
    const isLast = ({ name }: Json) => wasInjected && APPENDED.includes(String(name));
    const added = names.map((name) => ({ name, value: variables[name] }));
    return { ...proxy, env: [...others.filter((item) => !isLast(item)), ...added, ...others.filter(isLast)] };
  });
}
