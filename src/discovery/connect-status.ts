import { hostname } from "node:os";
import type { CloseStack } from "../base/close-stack.ts";
import { createDebounced } from "../base/debounce.ts";
import { objectKey } from "../istio-api/config-object.ts";
import type { PushSnapshot } from "../mesh-model/push-snapshot.ts";
import type { XdsType } from "../xds/xds-types.ts";
import type { Connection } from "./ads/connection.ts";
import { startLease } from "./cluster/start-lease.ts";
import type { CredentialSource } from "./credentials/create-credential-source.ts";
import type { StartDiscoveryOptions } from "./options.ts";
import { collectFindings, type Finding } from "./status/core/findings.ts";
import { refusedObjects } from "./status/core/refused-objects.ts";
import { type EventObject, startEventWriter } from "./status/start-event-writer.ts";
import { startStatusWriter } from "./status/start-status-writer.ts";
import type { KubernetesStore } from "./stores/create-kubernetes-store.ts";

export interface StatusParts {
  readonly rules: Pick<KubernetesStore, "rules" | "subscribeRules">;
  readonly credentials: Pick<CredentialSource, "problems" | "subscribe">;
  readonly snapshot: () => Pick<PushSnapshot, "problems">;
  readonly opened: CloseStack;
}

export interface ConnectedStatus {
  /** A snapshot was made: other objects may win than before. */
  pushed(): void;
  /** A proxy refused what it was sent. */
  refused(connection: Connection, type: XdsType, message: string): void;
}

/** Looking at all objects takes a while: when a burst of changes is over. */
const QUIET = { quietMs: 500, maxWaitMs: 5000 };

/** `PILOT_ENABLE_STATUS`: what is found in rule objects is written back to them, and Events say what an operator must see. */
export function connectStatus(options: StartDiscoveryOptions, parts: StatusParts): ConnectedStatus | undefined {
  const { kubernetesSource, kubernetes, systemNamespace: namespace = "istio-system", podName = "" } = options;
  const api = kubernetesSource?.api;
  if (api === undefined || kubernetes?.writesStatus !== true) return undefined;
  const { rules, credentials, snapshot, opened } = parts;
  const log = options.log.scope("status");
  const identity = podName || `${hostname()}-${process.pid}`;
  const events = opened.add(startEventWriter({ api, instance: identity, log }));
  let known: ReadonlyMap<string, readonly Finding[]> = new Map();
  const findings = () =>
    collectFindings({
      documents: rules.rules().flatMap(({ problems }) => problems),
      rules: snapshot().problems(),
      credentials: credentials.problems(),
    });
  const writer = opened.add(
    startStatusWriter({ api, rules: rules.rules, findings, isLeader: () => lease.isLeader, log }),
  );
  /** What follows from objects alone is said by the holder of the lease; what a proxy misses, by the replica that it is connected to. */
  const sayEvents = () => {
    const found = findings();
    const uids = new Map(rules.rules().map(({ ref, origin }) => [objectKey(ref), { ref, origin }]));
    for (const [key, list] of found) {
      const rule = uids.get(key);
      if (rule?.origin === undefined) continue;
      const before = new Set(known.get(key)?.map(({ message }) => message));
      for (const { reason, message } of list) {
        if (before.has(message) || !(lease.isLeader || reason === "CredentialMissing")) continue;
        const { resource, uid } = rule.origin;
        const { kind, namespace: where, name } = rule.ref;
        const apiVersion = `${resource.group}/${resource.version}`;
        events.warn({ apiVersion, kind, namespace: where, name, uid }, reason, message);
      }
    }
    known = found;
  };
  const look = createDebounced(async () => {
    sayEvents();
    await writer.reconcile();
  }, QUIET);
  const lease = opened.add(
    startLease({
      api,
      namespace,
      name: "istio-status-leader",
      identity,
      log,
      onChange: () => {
        known = new Map();
        look.trigger();
      },
    }),
  );
  opened.defer(rules.subscribeRules(look.trigger));
  opened.defer(credentials.subscribe(look.trigger));
  opened.defer(() => look.stop());
  look.trigger();
  return {
    pushed: look.trigger,
    refused: (connection, type, message) => {
      // Not the stream: the same proxy that comes back says the same.
      const text = `${connection.node.id} refused ${type}: ${message}`;
      const pod = podOf(connection);
      if (pod !== undefined) events.warn(pod, "ConfigurationRefused", text);
      for (const object of refusedObjects(connection.view(), type, message)) {
        const { apiVersion, kind, namespace: where, name } = object;
        const origin = rules.rules().find(({ ref }) => objectKey(ref) === objectKey(object))?.origin;
        if (origin === undefined) continue;
        events.warn({ apiVersion, kind, namespace: where, name, uid: origin.uid }, "ConfigurationRefused", text);
      }
    },
  };
}

/** The node of a pod is called `POD.NAMESPACE`. */
function podOf({ node: { id, namespace } }: Connection): EventObject | undefined {
  if (!id.endsWith(`.${namespace}`)) return undefined;
  return { apiVersion: "v1", kind: "Pod", namespace, name: id.slice(0, -(namespace.length + 1)) };
}
