import { availableParallelism } from "node:os";
import type { CloseStack } from "../base/close-stack.ts";
import { changesOfConfig, changesOfRegistry, FORCED_CHANGES, NO_CHANGES } from "../mesh-model/changes/push-changes.ts";
import type { ConfigSnapshot } from "../mesh-model/config-store.ts";
import { createPushSnapshot } from "../mesh-model/create-push-snapshot.ts";
import type { PushSettings } from "../settings/discovery-settings.ts";
import type { Connections } from "./ads/connections.ts";
import type { ConnectedConfig } from "./connect-config.ts";
import type { KeyStore } from "./keys/key-store.ts";
import type { MeshFile } from "./mesh-file.ts";
import type { DiscoveryMetrics } from "./metrics.ts";
import type { StartDiscoveryOptions } from "./options.ts";
import { type Pusher, startPusher } from "./push/start-pusher.ts";
import { watchProblems } from "./push/watch-problems.ts";

export interface PushParts {
  readonly config: ConnectedConfig;
  readonly mesh: MeshFile;
  readonly keys: KeyStore;
  readonly metrics: DiscoveryMetrics;
  readonly connections: () => ReturnType<Connections["all"]>;
  readonly opened: CloseStack;
}

/** Changes of rules, services and the mesh lead to snapshots and pushes. */
export function connectPush(options: StartDiscoveryOptions, parts: PushParts): Pusher {
  const { config, mesh, keys, metrics, opened } = parts;
  let counter = 0;
  const pusher = startPusher({
    settings: pushSettings(options.push),
    build: (previous) => {
      counter += 1;
      const version = `${new Date().toISOString().replace(/\.\d+Z$/, "Z")}/${counter}`;
      const { store, registry } = config;
      const input = { mesh: mesh.settings, configs: store.snapshot, registry, tokenKeys: keys.keys, version };
      return createPushSnapshot(previous === undefined ? input : { ...input, previous });
    },
    clients: parts.connections,
    onPush: (changes) => problems.note(changes),
    metrics: metrics.push,
    log: options.log.scope("ads"),
  });
  const problems = watchProblems({
    snapshot: () => pusher.snapshot,
    repeatedHosts: metrics.push.repeatedHosts,
    repeatedSubsets: metrics.push.repeatedSubsets,
    log: options.log.scope("validation"),
  });
  opened.defer(() => problems.stop());
  opened.add(pusher);
  const { inboundUpdates } = metrics.push;
  countRefused(metrics, config.store.snapshot);
  keys.want(config.store.snapshot.list("RequestAuthentication"));
  opened.defer(
    config.store.subscribe((change) => {
      countRefused(metrics, change.snapshot);
      if (change.changes.length === 0) return;
      inboundUpdates.inc(["config"], change.changes.length);
      keys.want(change.snapshot.list("RequestAuthentication"));
      pusher.trigger("config", changesOfConfig(change));
    }),
  );
  opened.defer(
    config.registry.subscribe((change) => {
      const { updated, deleted, endpoints } = change;
      if (updated.length > 0) inboundUpdates.inc(["svc"], updated.length);
      if (deleted.length > 0) inboundUpdates.inc(["svcdelete"], deleted.length);
      if (endpoints.length > 0) inboundUpdates.inc(["eds"], endpoints.length);
      pusher.trigger(updated.length + deleted.length === 0 ? "endpoint" : "service", changesOfRegistry(change));
    }),
  );
  keys.subscribe((objects) => pusher.trigger("config", { ...NO_CHANGES, objects }));
  mesh.subscribe(() => pusher.trigger("global", FORCED_CHANGES));
  return pusher;
}

function countRefused({ rejectedConfigs }: DiscoveryMetrics, { problems }: ConfigSnapshot): void {
  rejectedConfigs.set(problems.filter(({ severity }) => severity === "error").length, ["document"]);
}

function pushSettings(given: Partial<PushSettings> = {}): PushSettings {
  const automatic = Math.min(15 + 5 * availableParallelism(), 100);
  return {
    debounceAfterMs: given.debounceAfterMs ?? 100,
    debounceMaxMs: given.debounceMaxMs ?? 10_000,
    debouncesEndpoints: given.debouncesEndpoints ?? true,
    concurrency: (given.concurrency ?? 0) > 0 ? (given.concurrency ?? automatic) : automatic,
  };
}
