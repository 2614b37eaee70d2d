import type { AnalyzedObject } from "../../analyze/index.ts";
import { fields, labelsOf, listOf, textOf } from "../../mesh-model/kubernetes-object.ts";
import { matchesLabelSelector, selects } from "../../mesh-model/selector.ts";
import type { AnalyzeInput } from "./analyze-input.ts";

const WORKLOADS = new Set(["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"]);
const TLS_MODE = "security.istio.io/tlsMode";
const INJECT = "sidecar.istio.io/inject";

/**
 * With what controllers of a cluster would make of files: a pod for every workload that has none, with its proxy where it would be
 * injected, and endpoints for services that have none.
 */
export function withPlannedObjects(input: AnalyzeInput): AnalyzeInput {
  const { objects } = input;
  const of = (kind: string) => objects.filter((object) => object.kind === kind);
  const pods = of("Pod");
  const namespaces = new Map(of("Namespace").map(({ name, labels }) => [name, labels]));
  const without = objects
    .filter(({ kind }) => WORKLOADS.has(kind))
    .filter((workload) => !pods.some((pod) => isOf(workload, pod)));
  const podsOf = without.map((workload, index) => [podOf(workload, index, namespaces), workload] as const);
  const all = [...pods, ...podsOf.map(([pod]) => pod)];
  const slices = of("EndpointSlice");
  const services = of("Service").filter(
    (service) =>
      !slices.some(
        ({ namespace, labels }) =>
          namespace === service.namespace && labels["kubernetes.io/service-name"] === service.name,
      ),
  );
  const ofServices = services.flatMap((service) => slicesOf(service, all).map((slice) => [slice, service] as const));
  const planned = new Map([...podsOf, ...ofServices]);
  return { ...input, objects: [...objects, ...planned.keys()], planned };
}

function isOf({ body, namespace }: AnalyzedObject, pod: AnalyzedObject): boolean {
  return pod.namespace === namespace && matchesLabelSelector(fields(body.spec).selector, pod.labels);
}

function podOf(
  workload: AnalyzedObject,
  index: number,
  namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>,
): AnalyzedObject {
  const template = fields(fields(workload.body.spec).template);
  const { labels: given, annotations } = fields(template.metadata);
  const isInjected = wouldInject(labelsOf(given), namespaces.get(workload.namespace), namespaces.size > 0);
  const labels = { ...labelsOf(given), ...(isInjected && { [TLS_MODE]: "istio" }) };
  const name = `${workload.name}-planned`;
  // Of a range that is not routed.
  const podIP = `240.0.${(index >> 8) & 255}.${index & 255}`;
  const metadata = { name, namespace: workload.namespace, labels, annotations };
  const status = { podIP, phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  return {
    ...synthetic("Pod", "v1", name, workload),
    labels,
    body: { apiVersion: "v1", kind: "Pod", metadata, spec: template.spec, status },
  };
}

/** The label of the pod decides, then that of its namespace; without namespaces among the files every pod is taken to be injected. */
function wouldInject(
  labels: Readonly<Record<string, string>>,
  namespace: Readonly<Record<string, string>> | undefined,
  knowsNamespaces: boolean,
): boolean {
  const own = labels[INJECT];
  if (own !== undefined) return own === "true";
  if (namespace === undefined) return !knowsNamespaces;
  return namespace["istio-injection"] === "enabled" || (namespace["istio.io/rev"] ?? "") !== "";
}

function slicesOf(service: AnalyzedObject, pods: readonly AnalyzedObject[]): readonly AnalyzedObject[] {
  const spec = fields(service.body.spec);
  const selector = labelsOf(spec.selector);
  if (Object.keys(selector).length === 0) return [];
  const chosen = pods.filter((pod) => pod.namespace === service.namespace && selects(selector, pod.labels));
  const endpoints = chosen.flatMap(({ name, namespace, body }) => {
    const address = textOf(fields(body.status).podIP);
    return address === ""
      ? []
      : [{ addresses: [address], conditions: { ready: true }, targetRef: { kind: "Pod", name, namespace } }];
  });
  if (endpoints.length === 0) return [];
  const [pod] = chosen;
  const ports = listOf(spec.ports).map((port) => ({
    name: port.name ?? "",
    port: targetPort(port, pod),
    protocol: port.protocol ?? "TCP",
  }));
  const name = `${service.name}-planned`;
  const labels = { "kubernetes.io/service-name": service.name };
  const metadata = { name, namespace: service.namespace, labels };
  const apiVersion = "discovery.k8s.io/v1";
  const body = { apiVersion, kind: "EndpointSlice", metadata, addressType: "IPv4", endpoints, ports };
  return [{ ...synthetic("EndpointSlice", apiVersion, name, service), labels, body }];
}

/** A number, or the name of a container's port. */
function targetPort(
  { port, targetPort: target }: Readonly<Record<string, unknown>>,
  pod: AnalyzedObject | undefined,
): unknown {
  if (typeof target !== "string") return target ?? port;
  const containers = listOf(fields(pod?.body.spec).containers);
  const named = containers.flatMap(({ ports }) => listOf(ports)).find(({ name }) => name === target);
  return named?.containerPort ?? port;
}

function synthetic(kind: string, apiVersion: string, name: string, { namespace }: AnalyzedObject) {
  return { kind, apiVersion, namespace, name, annotations: {} };
}
