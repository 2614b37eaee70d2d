import { createAggregateRegistry } from "../../../src/discovery/registries/create-aggregate-registry.ts";
import { createServiceEntryRegistry } from "../../../src/discovery/registries/create-service-entry-registry.ts";
import { createMemoryStore } from "../../../src/discovery/stores/create-memory-store.ts";
import type { ObjectRef } from "../../../src/istio-api/config-object.ts";
import { describeDocumentProblem, parseConfigText } from "../../../src/istio-api/decode/parse-config-text.ts";
import {
  changesOfConfig,
  changesOfRegistry,
  FORCED_CHANGES,
  mergeChanges,
  NO_CHANGES,
  type PushChanges,
} from "../../../src/mesh-model/changes/push-changes.ts";
import { createPushSnapshot } from "../../../src/mesh-model/create-push-snapshot.ts";
import type { ProxyNode } from "../../../src/mesh-model/proxy/proxy-node.ts";
import type { PushSnapshot } from "../../../src/mesh-model/push-snapshot.ts";
import type { ServiceRegistry } from "../../../src/mesh-model/service-registry.ts";
import { NO_TOKEN_KEYS, type TokenKeys } from "../../../src/mesh-model/token-keys.ts";
import { meshOfCase, nodeOfCase } from "./view-of-case.ts";

/** A mesh whose objects change, with a snapshot after each step that knows the one before. */
export interface TestMesh {
  /** Throws when a document has an error. */
  put(configYaml: string): void;
  delete(ref: ObjectRef): void;
  setMesh(meshYaml: string): void;
  /** As if they had been fetched for the objects that ask for them. */
  setTokenKeys(keys: TokenKeys): void;
  /** Of the present state, following the last one that was taken; `changes` is what happened since. */
  take(): { readonly snapshot: PushSnapshot; readonly changes: PushChanges };
  /** Of the present state, following none: nothing in it was made before. */
  takeAlone(): PushSnapshot;
}

/** Objects without creation time are all equally old. `platform` is a registry beside that of the objects. */
export function createTestMesh(configYaml = "", meshYaml?: string, platform?: ServiceRegistry): TestMesh {
  let mesh = meshOfCase(meshYaml);
  let tokenKeys = NO_TOKEN_KEYS;
  let previous: PushSnapshot | undefined;
  let changes = NO_CHANGES;
  let count = 0;
  const store = createMemoryStore({ now: () => 0 });
  const put = (yaml: string) => {
    const { objects, problems } = parseConfigText(yaml);
    const [error] = problems.filter(({ severity }) => severity === "error");
    if (error !== undefined) throw new Error(describeDocumentProblem(error));
    for (const { source } of objects) store.put(source);
  };
  put(configYaml);
  const follow = () => createServiceEntryRegistry({ store, trustDomain: mesh.trustDomain, clusterId: "Kubernetes" });
  const entries = follow();
  const withPlatform = (own: ServiceRegistry) =>
    platform === undefined ? own : createAggregateRegistry([own, platform]);
  const registry = withPlatform(entries);
  store.subscribe((change) => {
    changes = mergeChanges(changes, changesOfConfig(change));
  });
  registry.subscribe((change) => {
    changes = mergeChanges(changes, changesOfRegistry(change));
  });
  return {
    put,
    delete: (ref) => void store.delete(ref),
    setMesh: (yaml) => {
      mesh = meshOfCase(yaml);
      entries.setTrustDomain(mesh.trustDomain);
      changes = mergeChanges(changes, FORCED_CHANGES);
    },
    setTokenKeys: (keys) => {
      tokenKeys = keys;
      changes = mergeChanges(changes, { ...NO_CHANGES, objects: store.snapshot.list("RequestAuthentication") });
    },
    takeAlone: () => {
      const own = follow();
      own.close();
      const alone = withPlatform(own);
      return createPushSnapshot({ mesh, configs: store.snapshot, registry: alone, tokenKeys, version: "alone" });
    },
    take: () => {
      count += 1;
      const version = `2026-01-01T00:00:00Z/${count}`;
      const known = previous === undefined ? {} : { previous };
      const snapshot = createPushSnapshot({ mesh, configs: store.snapshot, registry, tokenKeys, version, ...known });
      const taken = { snapshot, changes };
      previous = snapshot;
      changes = NO_CHANGES;
      return taken;
    },
  };
}

export interface TestNode {
  readonly name?: string;
  readonly namespace?: string;
  readonly type?: "sidecar" | "router";
  readonly address?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export function testNode({
  name = "web-1",
  namespace = "default",
  type = "sidecar",
  address = "10.10.0.11",
  labels = {},
  metadata = {},
}: TestNode = {}): ProxyNode {
  return nodeOfCase({
    id: `${type}~${address}~${name}.${namespace}~${namespace}.svc.cluster.local`,
    metadata: { NAMESPACE: namespace, INSTANCE_IPS: address, LABELS: labels, CLUSTER_ID: "Kubernetes", ...metadata },
  });
}
