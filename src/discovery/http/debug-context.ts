import type { Connections } from "../ads-server/connections.ts";
import type { CachingSource } from "../generators/create-resource-source.ts";
import type { AggregateRegistry } from "../registry/create-aggregate-registry.ts";
import type { Conflicts } from "../resource-conflicts.ts";
import type { PushSnapshot } from "../snapshot/push-snapshot.ts";
import type { ConfigStore } from "../store/config-store.ts";

/** What debug pages may look at. */
export interface DebugContext {
  readonly connections: Pick<Connections, "all" | "find">;
  readonly snapshot: () => PushSnapshot;
  readonly source: CachingSource;
  readonly registry: Pick<AggregateRegistry, "services" | "endpoints" | "targets">;
  readonly store: ConfigStore;
  /** Makes a new snapshot and pushes it. */
  readonly push: () => void;
  readonly pushes: () => number;
  /** What connected proxies cannot be given together, by metric, then by the place that several ask for. */
  readonly conflicts: () => Conflicts;
  /** Of the server itself. */
  readonly clusterId: string;
  readonly allowsAdmin: boolean;
}
