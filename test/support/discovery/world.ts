import { createServiceEntryRegistry } from "../../../src/discovery/registries/create-service-entry-registry.ts";
import { createMemoryStore } from "../../../src/discovery/stores/create-memory-store.ts";
import type { ObjectRef } from "../../../src/istio-api/config-object.ts";
import { parseConfigText } from "../../../src/istio-api/decode/parse-config-text.ts";
import { createPushSnapshot } from "../../../src/mesh-model/create-push-snapshot.ts";
import { type Networks, NO_NETWORKS } from "../../../src/mesh-model/networks.ts";
import type { XdsNode } from "../../../src/mesh-model/proxy/parse-node.ts";
import type { OutboundScope, PushSnapshot } from "../../../src/mesh-model/push-snapshot.ts";
import { meshOfCase, nodeOfCase } from "../mesh-model/view-of-case.ts";

/** A mesh whose objects change between snapshots, seen by one sidecar of the namespace `default`. */
export function createWorld(yaml: string, meshYaml?: string, networks: Networks = NO_NETWORKS) {
  const mesh = meshOfCase(meshYaml);
  const store = createMemoryStore({ now: () => 0 });
  const registry = createServiceEntryRegistry({ store, trustDomain: mesh.trustDomain, clusterId: "Kubernetes" });
  const put = (text: string) => {
    for (const { source } of parseConfigText(text).objects) {
      const result = store.put(source);
      if (!result.stored) throw new Error(JSON.stringify(result.problems));
    }
  };
  put(yaml);
  let previous: PushSnapshot | undefined;
  return {
    put,
    remove: (ref: ObjectRef) => store.delete(ref),
    /** The mesh of this moment. */
    scope: (node: XdsNode = NODE): OutboundScope => {
      const base = { mesh, configs: store.snapshot, registry, networks, version: "v" };
      previous = createPushSnapshot(previous === undefined ? base : { ...base, previous });
      return previous.view(nodeOfCase(node)).outbound;
    },
  };
}

export const NODE = {
  id: "sidecar~10.0.0.9~client-0.default~default.svc.cluster.local",
  metadata: { NAMESPACE: "default", INSTANCE_IPS: "10.0.0.9", CLUSTER_ID: "Kubernetes", LABELS: { app: "client" } },
  locality: { region: "r1", zone: "z1", subZone: "s1" },
};
