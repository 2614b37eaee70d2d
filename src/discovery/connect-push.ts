import { availableParallelism } from "node:os";
import type { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import { createDebounced } from "../base/debounce.ts";
import type { Logger } from "../base/logger.ts";
import type { Gauge } from "../base/metric-registry.ts";
import {
  changesOfConfig,
  changesOfRegistry,
  FORCED_CHANGES,
  NO_CHANGES,
  type PushChanges,
} from "../mesh-model/changes/push-changes.ts";
import type { ConfigSnapshot } from "../mesh-model/config-store.ts";
import { createPushSnapshot } from "../mesh-model/create-push-snapshot.ts";
import type { PushSnapshot, RuleProblem } from "../mesh-model/push-snapshot.ts";
import type { PushSettings } from "../settings/discovery-settings.ts";
import type { Connections } from "./ads/connections.ts";
import type { ConnectedConfig } from "./connect-config.ts";
import type { KeyStore } from "./keys/key-store.ts";
import type { MeshFile } from "./mesh-file.ts";
import type { DiscoveryMetrics } from "./metrics.ts";
import type { ConnectedNetworks } from "./networks/connect-networks.ts";
import type { StartDiscoveryOptions } from "./options.ts";
import { type Pusher, startPusher } from "./push/start-pusher.ts";

/** At most so many are logged per pass; a mesh that collides as a whole must not fill the log. */
const TOLD_AT_ONCE = 50;

export interface PushParts {
  readonly config: ConnectedConfig;
  readonly mesh: MeshFile;
  readonly keys: KeyStore;
  readonly networks: Pick<ConnectedNetworks, "current" | "subscribe">;
  readonly metrics: DiscoveryMetrics;
  /** A snapshot was made. */
  readonly onPush: () => void;
  readonly connections: () => ReturnType<Connections["all"]>;
  readonly opened: CloseStack;
}

/** Changes of rules, services and the mesh lead to snapshots and pushes. */
export function connectPush(options: StartDiscoveryOptions, parts: PushParts): Pusher {
  const { config, mesh, keys, networks, metrics, opened } = parts;
  let counter = 0;
  const pusher = startPusher({
    settings: pushSettings(options.push),
    build: (previous) => {
      counter += 1;
      const version = `${new Date().toISOString().replace(/\.\d+Z$/, "Z")}/${counter}`;
      const { store, registry } = config;
      const input = {
        mesh: mesh.settings,
        configs: store.snapshot,
        registry,
        tokenKeys: keys.keys,
        networks: networks.current,
        version,
      };
      return createPushSnapshot(previous === undefined ? input : { ...input, previous });
    },
    clients: parts.connections,
    onPush: (changes) => {
      problems.note(changes);
      parts.onPush();
    },
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
  // Any endpoint may be behind one of them.
  networks.subscribe(() => pusher.trigger("networks", FORCED_CHANGES));
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

interface ProblemWatchOptions {
  readonly snapshot: () => Pick<PushSnapshot, "problems">;
  /** VirtualServices that lose a host to an older one. */
  readonly repeatedHosts: Gauge;
  /** DestinationRules that lose a subset to an older one. */
  readonly repeatedSubsets: Gauge;
  readonly log: Logger;
  /** Looking costs more than a push may wait for: it is done when a burst of pushes is over; 500 ms. */
  readonly quietMs?: number;
}

interface ProblemWatch {
  /** A snapshot was made from these changes. */
  note(changes: PushChanges): void;
  stop(): Promise<void>;
}

/** Logs objects that lose to others, once; again when one stopped and begins again. */
export function watchProblems(options: ProblemWatchOptions): ProblemWatch {
  const { snapshot, repeatedHosts, repeatedSubsets, log, quietMs = 500 } = options;
  let known = new Set<string>();
  const look = async (): Promise<void> => {
    const problems = snapshot().problems();
    repeatedHosts.set(problems.filter(({ repeatedHost }) => repeatedHost !== undefined).length);
    repeatedSubsets.set(problems.filter(({ repeatedSubset }) => repeatedSubset !== undefined).length);
    const fresh = problems.filter((problem) => !known.has(keyOf(problem)));
    known = new Set(problems.map(keyOf));
    for (const { object, message } of fresh.slice(0, TOLD_AT_ONCE)) {
      log.warn("rule is not followed as written", {
        object: `${object.kind} ${object.namespace}/${object.name}`,
        reason: message,
      });
    }
    const more = fresh.length - TOLD_AT_ONCE;
    if (more > 0) log.warn("more rules are not followed as written, see /debug/push_status", { more });
  };
  const tryToLook = () =>
    // Not awaited: what it throws would end the process, for a page and two metrics.
    look().catch((thrown: unknown) => log.error("rules could not be compared", { error: errorMessage(thrown) }));
  const debounced = createDebounced(tryToLook, { quietMs, maxWaitMs: 10 * quietMs });
  debounced.trigger();
  return {
    note: ({ forced, objects, services }) => {
      // Endpoints come and go all the time, and no rule wins or loses by them.
      if (forced || objects.length > 0 || services.size > 0) debounced.trigger();
    },
    stop: () => debounced.stop(),
  };
}

function keyOf({ object: { kind, namespace, name }, message }: RuleProblem): string {
  return `${kind}/${namespace}/${name} ${message}`;
}
