import type { Connections } from "../ads-server/connections.ts";
import type { ResourceSource } from "../ads-server/resource-source.ts";
import type { AggregateRegistry } from "../registry/create-aggregate-registry.ts";
import type { PushSnapshot } from "../snapshot/push-snapshot.ts";
import type { ConfigStore } from "../store/config-store.ts";

/** What debug pages may look at. */
export interface DebugContext {
  readonly connections: Pick<Connections, "all" | "find">;
  readonly snapshot: () => PushSnapshot;
  readonly source: ResourceSource;
  readonly registry: Pick<AggregateRegistry, "services" | "endpoints" | "targets">;
  readonly store: ConfigStore;
  /** Makes a new snapshot and pushes it. */
  readonly push: () => void;
  readonly pushes: () => number;
  readonly allowsAdmin: boolean;
}
