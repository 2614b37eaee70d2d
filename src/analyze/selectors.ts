import { fields, labelsOf, listOf } from "../mesh-model/kubernetes-object.ts";
import type { AnalyzedMesh, AnalyzedObject } from "./analyzed-mesh.ts";

type Labels = Readonly<Record<string, string>>;
type Fields = Readonly<Record<string, unknown>>;

export const PROXY_CONTAINER = "istio-proxy";
const SYSTEM_NAMESPACES: ReadonlySet<string> = new Set([
  "kube-system",
  "kube-public",
  "kube-node-lease",
  "local-path-storage",
]);

/** As Kubernetes prints a selector of labels. */
export function selectorText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join(",");
}

/** The containers of a pod or of a workload's template, init containers last. */
export function containersOf(podSpec: Fields): readonly Fields[] {
  return [...listOf(podSpec.containers), ...listOf(podSpec.initContainers)];
}

export function podSpecOf({ kind, body }: AnalyzedObject): Fields {
  const spec = fields(body.spec);
  return kind === "Pod" ? spec : fields(fields(spec.template).spec);
}

export function podLabelsOf(object: AnalyzedObject): Labels {
  if (object.kind === "Pod") return object.labels;
  return labelsOf(fields(fields(fields(object.body.spec).template).metadata).labels);
}

export function hasProxy(pod: AnalyzedObject): boolean {
  return containersOf(podSpecOf(pod)).some(({ name }) => name === PROXY_CONTAINER);
}

export function isSystemNamespace(namespace: string, rootNamespace: string): boolean {
  return namespace === rootNamespace || SYSTEM_NAMESPACES.has(namespace);
}

/** Parts of the control plane and gateways that an installation brings along. */
export function isControlPlane({ labels }: AnalyzedObject): boolean {
  return labels.istio !== undefined || labels.release === "istio" || labels.app === "istiod";
}

export function namespaceOf(mesh: AnalyzedMesh, name: string): AnalyzedObject | undefined {
  return mesh.named("Namespace", "", name);
}

/** Names of objects in one line: `a, b`. */
export function namesOf(objects: readonly AnalyzedObject[]): string {
  return objects
    .map(({ namespace, name }) => `${namespace}/${name}`)
    .sort()
    .join(", ");
}
