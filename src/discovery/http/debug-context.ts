import type { CachingSource } from "../../envoy-config/index.ts";
import type { ConfigStore } from "../../mesh-model/config-store.ts";
import type { NetworkGateway } from "../../mesh-model/networks.ts";
import type { PushSnapshot } from "../../mesh-model/push-snapshot.ts";
import type { Connections } from "../ads/connections.ts";
import type { CredentialProblem } from "../credentials/credential-problems.ts";
import type { Locate } from "../locate-objects.ts";
import type { Conflicts } from "../mesh-figures.ts";
import type { AggregateRegistry } from "../registries/create-aggregate-registry.ts";
import type { SourceFreshness } from "../source-freshness.ts";

/** What debug pages may look at. */
export interface DebugContext {
  readonly connections: Pick<Connections, "all" | "find">;
  readonly snapshot: () => PushSnapshot;
  readonly source: CachingSource;
  readonly registry: Pick<AggregateRegistry, "services" | "endpoints" | "targets">;
  readonly store: ConfigStore;
  /** Where objects of explanations are. */
  readonly locate: Locate;
  /** Credentials that connected proxies ask for and do not get. */
  readonly credentialProblems: () => readonly CredentialProblem[];
  /** Makes a new snapshot and pushes it. */
  readonly push: () => void;
  readonly pushes: () => number;
  /** Whether changes are on their way to proxies. */
  readonly isPushing: () => boolean;
  /** What connected proxies cannot be given together, by metric, then by what several of them claim. */
  readonly conflicts: () => Conflicts;
  /** Of the server itself. */
  readonly clusterId: string;
  /** Clusters and Consul, with how old what is known of them is. */
  readonly sources: () => readonly SourceFreshness[];
  /** Gateways of networks whose names have no address yet. */
  readonly unresolvedGateways: () => readonly NetworkGateway[];
  /** Of injection by name, as texts; none where pods are not injected. */
  readonly injectionTemplates: () => Readonly<Record<string, string>>;
  readonly allowsAdmin: boolean;
}
