import type { KubernetesObject } from "../../../src/mesh-model/kubernetes-object.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A Service of namespace prod with an HTTP port 80 to 8080 that selects `app: NAME`. */
export function kubeService(name: string, spec: Fields = {}, metadata: Fields = {}): KubernetesObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "prod", ...metadata },
    spec: {
      clusterIP: "10.96.0.1",
      selector: { app: name },
      ports: [{ name: "http", port: 80, targetPort: 8080, protocol: "TCP" }],
      ...spec,
    },
  };
}

/** A pod that is ready, in the mesh, on node n1. */
export function kubePod(
  name: string,
  ip: string,
  more: { metadata?: Fields; spec?: Fields; status?: Fields } = {},
): KubernetesObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "prod",
      labels: { app: "web", "security.istio.io/tlsMode": "istio" },
      ...more.metadata,
    },
    spec: { nodeName: "n1", serviceAccountName: "web", containers: [{ name: "app" }], ...more.spec },
    status: {
      phase: "Running",
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [{ type: "Ready", status: "True" }],
      ...more.status,
    },
  };
}

/** Endpoints of a service's http port 8080. An address alone belongs to nobody, `pod` names the pod behind it. */
export function kubeSlice(
  service: string,
  endpoints: readonly { address: string; pod?: string; conditions?: Fields }[],
  name = `${service}-1`,
): KubernetesObject {
  const slice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: "prod", labels: { "kubernetes.io/service-name": service } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: endpoints.map(({ address, pod, conditions }) => ({
      addresses: [address],
      ...(conditions && { conditions }),
      ...(pod !== undefined && { targetRef: { kind: "Pod", name: pod, namespace: "prod" } }),
    })),
  };
  return slice;
}

/** `address`: where clients outside of the cluster reach it. */
export function kubeNode(name: string, labels: Fields, address?: string): KubernetesObject {
  const addresses = [
    { type: "InternalIP", address: "10.255.0.1" },
    ...(address === undefined ? [] : [{ type: "ExternalIP", address }]),
  ];
  return { apiVersion: "v1", kind: "Node", metadata: { name, labels }, status: { addresses } };
}

export function kubeNamespace(name: string, labels: Fields = {}, annotations: Fields = {}): KubernetesObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels, annotations } };
}
