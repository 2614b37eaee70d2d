import { parseAllDocuments } from "yaml";
import { snapshotOfObjects } from "../../../src/discovery/snapshot-of-objects.ts";
import type { KubernetesObject } from "../../../src/mesh-model/kubernetes-object.ts";
import type { XdsNode } from "../../../src/mesh-model/proxy/parse-node.ts";
import type { ProxyView, PushSnapshot } from "../../../src/mesh-model/push-snapshot.ts";
import { meshOfCase, nodeOfCase } from "./view-of-case.ts";

/** What a proxy sees in a mesh of the given Kubernetes objects. */
export function viewOfKubernetes(objectsYaml: string, meshYaml: string | undefined, node: XdsNode | string): ProxyView {
  return snapshotOfKubernetes(readKubernetesObjects(objectsYaml), meshYaml).view(nodeOfCase(node));
}

export function readKubernetesObjects(yaml: string): readonly KubernetesObject[] {
  return parseAllDocuments(yaml).flatMap((document) => (document.toJS() as KubernetesObject | null) ?? []);
}

/** The mesh of objects that arrive in the given order. */
export function snapshotOfKubernetes(objects: readonly KubernetesObject[], meshYaml?: string): PushSnapshot {
  return snapshotOfObjects(objects, meshOfCase(meshYaml));
}
