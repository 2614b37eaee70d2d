import type { CloseStack } from "../base/close-stack.ts";
import type { ConfigStore } from "../mesh-model/config-store.ts";
import { configDirectories } from "./config-directories.ts";
import type { MeshFile } from "./mesh-file.ts";
import type { StartDiscoveryOptions } from "./options.ts";
import { type AggregateRegistry, createAggregateRegistry } from "./registries/create-aggregate-registry.ts";
import { createServiceEntryRegistry } from "./registries/create-service-entry-registry.ts";
import { combineStores } from "./stores/combine-stores.ts";
import { createMemoryStore, type MemoryStore } from "./stores/create-memory-store.ts";
import { startFileStore } from "./stores/start-file-store.ts";

export interface ConnectedConfig {
  /** Files first: of two objects with one name theirs counts. */
  readonly store: ConfigStore;
  readonly files: ConfigStore | undefined;
  readonly memory: MemoryStore;
  readonly registry: AggregateRegistry;
}

/** Where rules and services come from. */
export async function connectConfig(
  options: StartDiscoveryOptions,
  mesh: MeshFile,
  opened: CloseStack,
): Promise<ConnectedConfig> {
  const log = options.log.scope("validation");
  const { configDir, clusterId = "Kubernetes" } = options;
  const directories: ConfigStore[] = [];
  for (const dir of configDirectories(mesh.settings.source, configDir, log)) {
    directories.push(opened.add(await startFileStore({ dir, log })));
  }
  const [only, ...more] = directories;
  const files = more.length === 0 ? only : opened.add(combineStores(directories));
  const memory = createMemoryStore();
  const store = opened.add(combineStores(files === undefined ? [memory] : [files, memory]));
  const entries = opened.add(createServiceEntryRegistry({ store, clusterId, trustDomain: mesh.settings.trustDomain }));
  mesh.subscribe(({ trustDomain }) => entries.setTrustDomain(trustDomain));
  return { store, files, memory, registry: createAggregateRegistry([entries]) };
}
