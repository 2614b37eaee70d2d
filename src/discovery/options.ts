import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import type { PushSnapshot } from "../mesh-model/push-snapshot.ts";
import type { ListenAddress } from "../net/listen/listen.ts";
import type { DiscoveryPorts, DiscoverySettings } from "../settings/discovery-settings.ts";
import type { Connections } from "./ads/connections.ts";
import type { KeyStoreOptions } from "./keys/key-store.ts";
import type { KubernetesSource } from "./kubernetes-source.ts";
import type { ConfigParser } from "./parse/config-parser.ts";
import type { MemoryStore } from "./stores/create-memory-store.ts";

export interface StartDiscoveryOptions extends DiscoverySettings {
  readonly log: Logger;
  /** Reads rules and the mesh file, and is stopped with the server; a thread of its own when absent. */
  readonly parser?: ConfigParser;
  /** The program of the thread in which webhooks review large objects, `none` for the serving one. */
  readonly reviewThread?: URL | "none";
  /** Aborted during the start: it rejects with the reason, and nothing stays open. */
  readonly signal?: AbortSignal;
  /** Objects of a cluster from somewhere else than from an API server. */
  readonly kubernetesSource?: KubernetesSource;
  /** Key sets of token issuers that rules name by address; 20 minutes between two looks at one. */
  readonly tokenKeys?: Pick<KeyStoreOptions, "refreshMs">;
}

/** A running control plane. `stop` is graceful within the shutdown time. */
export interface Discovery extends Handle {
  readonly addresses: { readonly [Port in keyof DiscoveryPorts]: ListenAddress };
  /** Rule objects put through the `/config` API, or by the owner of this handle. */
  readonly store: MemoryStore;
  readonly connections: Pick<Connections, "all" | "find">;
  readonly snapshot: PushSnapshot;
  /** Snapshots made so far. */
  readonly pushes: number;
  /** PEM of the mesh's root certificates. */
  readonly rootPem: string;
  /** A token that the server accepts for a workload, for meshes without another issuer. */
  issueToken(account: { readonly namespace: string; readonly name: string }, seconds: number): Promise<string>;
}
