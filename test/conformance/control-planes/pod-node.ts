import type { ApiObject } from "../../../src/kubernetes/objects.ts";
import type { AdsNode } from "../../support/xds/following-client.ts";
import { type Json, list, object, objects, text } from "../discovery/json.ts";

/** How the proxy of a pod introduces itself: what the injector and the downward API tell an agent. Undefined without address. */
export function nodeOfPod(pod: ApiObject, clusterId: string): AdsNode | undefined {
  const { name = "", namespace = "default", labels = {} } = pod.metadata;
  const [spec, status] = [object(pod.spec), object(pod.status)];
  const ips = objects(status.podIPs).map(({ ip }) => text(ip));
  const address = text(status.podIP) || ips[0];
  if (address === undefined || address === "" || spec.hostNetwork === true) return undefined;
  const containers = objects(spec.containers);
  const ports = containers.flatMap((container) => objects(container.ports));
  return {
    id: `${isRouter(containers, labels) ? "router" : "sidecar"}~${address}~${name}.${namespace}~${namespace}.svc.cluster.local`,
    metadata: {
      NAME: name,
      NAMESPACE: namespace,
      CLUSTER_ID: clusterId,
      INSTANCE_IPS: (ips.length === 0 ? [address] : ips).join(","),
      INTERCEPTION_MODE: "REDIRECT",
      SERVICE_ACCOUNT: text(spec.serviceAccountName) || "default",
      NODE_NAME: text(spec.nodeName),
      MESH_ID: "cluster.local",
      ISTIO_VERSION: "1.32.0",
      DNS_CAPTURE: "true",
      LABELS: { ...labels },
      ...(ports.length > 0 && { POD_PORTS: JSON.stringify(ports) }),
    },
  };
}

/** A gateway is a pod whose proxy is started as one, or one that the injector makes one. */
function isRouter(containers: readonly Json[], labels: Readonly<Record<string, string>>): boolean {
  const words = containers.flatMap(({ args }) => list(args));
  return words.includes("router") || labels.istio?.endsWith("gateway") === true;
}
