import { createServiceEntryRegistry } from "../../../src/discovery/registries/create-service-entry-registry.ts";
import { createMemoryStore } from "../../../src/discovery/stores/create-memory-store.ts";
import { locateYaml } from "../../../src/files/yaml/locate-yaml.ts";
import { describeDocumentProblem, parseConfigText } from "../../../src/istio-api/decode/parse-config-text.ts";
import { defaultMeshConfig } from "../../../src/istio-api/mesh-config/mesh-config.ts";
import { applyMeshConfig } from "../../../src/istio-api/mesh-config/parse-mesh-config.ts";
import { buildMeshSettings } from "../../../src/mesh-model/build-mesh-settings.ts";
import { createPushSnapshot } from "../../../src/mesh-model/create-push-snapshot.ts";
import type { MeshSettings } from "../../../src/mesh-model/mesh-settings.ts";
import { parseNode, type XdsNode } from "../../../src/mesh-model/proxy/parse-node.ts";
import type { ProxyView, PushSnapshot } from "../../../src/mesh-model/push-snapshot.ts";
import { generationRules } from "../../../src/settings/generations.ts";

/** What a proxy sees in a mesh of the given objects. Throws when a document has an error. `node` may be JSON text. */
export function viewOfCase(configYaml: string, meshYaml: string | undefined, node: XdsNode | string): ProxyView {
  return snapshotOfCase(configYaml, meshYaml).view(nodeOfCase(node));
}

export function nodeOfCase(node: XdsNode | string) {
  return parseNode(typeof node === "string" ? (JSON.parse(node) as XdsNode) : node);
}

/** Objects without creation time are all equally old. */
function snapshotOfCase(configYaml: string, meshYaml?: string): PushSnapshot {
  const mesh = meshOfCase(meshYaml);
  const store = createMemoryStore({ now: () => 0 });
  const { objects, problems } = parseConfigText(configYaml);
  const [error] = problems.filter(({ severity }) => severity === "error");
  if (error !== undefined) throw new Error(describeDocumentProblem(error));
  for (const { source } of objects) store.put(source);
  const registry = createServiceEntryRegistry({ store, trustDomain: mesh.trustDomain, clusterId: "Kubernetes" });
  return createPushSnapshot({ mesh, configs: store.snapshot, registry, version: "2026-01-01T00:00:00Z/1" });
}

export function meshOfCase(meshYaml = ""): MeshSettings {
  const parsed = locateYaml(meshYaml);
  if ("problem" in parsed) throw new Error(parsed.problem);
  const rules = generationRules("master");
  const { config, problems } = applyMeshConfig(defaultMeshConfig(rules), parsed.data, rules);
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return buildMeshSettings(config);
}
