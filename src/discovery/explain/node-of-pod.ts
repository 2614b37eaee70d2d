import { fields, type KubernetesObject, labelsOf, listOf, textOf, texts } from "../../mesh-model/kubernetes-object.ts";
import type { XdsNode } from "../../mesh-model/proxy/parse-node.ts";

/** The proxy of a pod as it would present itself; undefined for pods that have no address yet. */
export function nodeOfPod({ metadata = {}, spec, status }: KubernetesObject): XdsNode | undefined {
  const { name = "", namespace = "default" } = metadata;
  const { podIP, podIPs } = fields(status);
  const addresses = [...new Set([textOf(podIP), ...listOf(podIPs).map(({ ip }) => textOf(ip))])].filter(
    (ip) => ip !== "",
  );
  const [first] = addresses;
  if (first === undefined) return undefined;
  const type = isRouter(spec) ? "router" : "sidecar";
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

/** The proxy of a gateway is run as `proxy router`. */
function isRouter(spec: unknown): boolean {
  return listOf(fields(spec).containers).some(({ args }) => texts(args).includes("router"));
}
