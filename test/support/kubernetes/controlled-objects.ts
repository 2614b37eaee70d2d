import type { Manifest } from "./apply-objects.ts";

type Members = Readonly<Record<string, unknown>>;

const members = (value: unknown): Members => (typeof value === "object" && value !== null ? (value as Members) : {});
const list = (value: unknown): readonly Members[] => (Array.isArray(value) ? value.map(members) : []);

/**
 * What the controllers and nodes of a whole cluster would make of manifests, for an API server that runs alone: namespaces and their
 * accounts, pods of Deployments and StatefulSets that run and are ready, and slices of the Services that select them.
 */
export function controlledObjects(given: readonly Manifest[], namespace: string, firstPod = 0): readonly Manifest[] {
  const own = given.map((manifest) => inNamespace(manifest, namespace));
  const workloads = own.filter(({ kind }) => kind === "Deployment" || kind === "StatefulSet");
  let index = firstPod;
  const pods = workloads.flatMap((workload) => {
    const replicas = Number(members(workload.spec).replicas ?? 1);
    return Array.from({ length: replicas }, (_, at) => podOf(workload, at, addressOf(index++)));
  });
  const slices = own.filter(({ kind }) => kind === "Service").flatMap((service) => slicesOf(service, pods));
  const accounts = own.filter(({ kind }) => kind === "ServiceAccount");
  const rest = own.filter((manifest) => !workloads.includes(manifest) && !accounts.includes(manifest));
  const namespaces = [...new Set(own.flatMap(({ metadata }) => metadata.namespace ?? []))];
  return [
    ...namespaces.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
    ...namespaces.map((name) => inNamespace(DEFAULT_ACCOUNT, name)),
    ...accounts,
    ...rest,
    ...pods,
    ...slices,
  ];
}

const DEFAULT_ACCOUNT = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };

/** Kinds of the cluster itself, as far as manifests of applications have them. */
const WITHOUT_NAMESPACE = [
  "Namespace",
  "Node",
  "CustomResourceDefinition",
  "GatewayClass",
  "ClusterRole",
  "ClusterRoleBinding",
];

function inNamespace(manifest: Manifest, namespace: string): Manifest {
  if (WITHOUT_NAMESPACE.includes(manifest.kind)) return manifest;
  return { ...manifest, metadata: { namespace, ...manifest.metadata } };
}

function addressOf(index: number): string {
  return `10.10.${(index + 1) >> 8}.${(index + 1) & 255}`;
}

function podOf(workload: Manifest, at: number, address: string): Manifest {
  const template = members(members(workload.spec).template);
  const { name, namespace = "default" } = workload.metadata;
  const spec = members(template.spec);
  const containers = list(spec.containers).map(({ name: container, image, ports, args }) => ({
    name: container,
    image,
    ...(ports !== undefined && { ports }),
    ...(args !== undefined && { args }),
  }));
  const { labels, annotations } = members(template.metadata);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${name}-${at}`,
      namespace,
      labels: { ...members(labels), "security.istio.io/tlsMode": "istio" },
      ...(annotations !== undefined && { annotations }),
    },
    spec: { serviceAccountName: spec.serviceAccountName ?? "default", containers },
    status: {
      phase: "Running",
      podIP: address,
      podIPs: [{ ip: address }],
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

/** As the controller makes them: one for each set of ports that pods resolve the service's ports to. */
function slicesOf(service: Manifest, pods: readonly Manifest[]): readonly Manifest[] {
  const { name, namespace = "default" } = service.metadata;
  const { selector, ports } = members(service.spec);
  if (selector === undefined) return [];
  const selected = pods.filter(
    ({ metadata }) =>
      metadata.namespace === namespace &&
      Object.entries(members(selector)).every(([label, value]) => members(metadata.labels)[label] === value),
  );
  const groups = new Map<string, Manifest[]>();
  for (const pod of selected) {
    const resolved = JSON.stringify(list(ports).map((port) => resolvePort(port, pod)));
    groups.set(resolved, [...(groups.get(resolved) ?? []), pod]);
  }
  return [...groups].map(([resolved, group], at) => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: `${name}-${at}`, namespace, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports: JSON.parse(resolved),
    endpoints: group.map(({ metadata, status }) => ({
      addresses: [members(status).podIP],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: "Pod", name: metadata.name, namespace },
    })),
  }));
}

function resolvePort(
  { name = "", port, targetPort = port, protocol = "TCP", appProtocol }: Members,
  pod: Manifest,
): Members {
  const containers = list(members(pod.spec).containers).flatMap((container) => list(container.ports));
  const number =
    typeof targetPort === "string" ? containers.find((known) => known.name === targetPort)?.containerPort : targetPort;
  return { name, port: number, protocol, ...(appProtocol !== undefined && { appProtocol }) };
}
