import { fields, type KubernetesObject, labelsOf, listOf, textOf, texts } from "../mesh-model/kubernetes-object.ts";
import type { XdsNode } from "../mesh-model/proxy/parse-node.ts";

/** The proxy of a pod as it would present itself; undefined for pods that have no address yet. */
export function nodeOfPod({ metadata = {}, spec, status }: KubernetesObject): XdsNode | undefined {
  const { name = "", namespace = "default" } = metadata;
  const { podIP, podIPs } = fields(status);
  const addresses = [...new Set([textOf(podIP), ...listOf(podIPs).map(({ ip }) => textOf(ip))])].filter(
    (ip) => ip !== "",
  );
  const [first] = addresses;
  if (first === undefined) return undefined;
  const type = isRouter(labelsOf(metadata.annotations), spec) ? "router" : "sidecar";
  return {
    id: `${type}~${first}~${name}.${namespace}~${namespace}.svc.cluster.local`,
    metadata: {
      NAME: name,
      NAMESPACE: namespace,
      LABELS: labelsOf(metadata.labels),
      INSTANCE_IPS: addresses.join(","),
      CLUSTER_ID: "Kubernetes",
      SERVICE_ACCOUNT: textOf(fields(spec).serviceAccountName) || "default",
      NODE_NAME: textOf(fields(spec).nodeName),
    },
  };
}

const PROXY_CONTAINER = "istio-proxy";
const TEMPLATES = "inject.istio.io/templates";

/** The proxy of a gateway is run as `proxy router`, or will be: the template is named before the container is injected. */
function isRouter(annotations: Readonly<Record<string, string>>, spec: unknown): boolean {
  const proxies = listOf(fields(spec).containers).filter(({ name }) => name === PROXY_CONTAINER);
  const isRun = proxies.some(({ args }) => texts(args).slice(0, 2).join(" ") === "proxy router");
  return isRun || (annotations[TEMPLATES] ?? "").split(",").some((template) => template.trim() === "gateway");
}

/** Whether a proxy is in front of the pod: injected, or a sidecar among the init containers. */
export function hasProxy({ spec }: KubernetesObject): boolean {
  const { containers, initContainers } = fields(spec);
  return [...listOf(containers), ...listOf(initContainers)].some(({ name }) => name === PROXY_CONTAINER);
}
