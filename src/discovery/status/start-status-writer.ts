import { type BackoffOptions, backoffDelayMs } from "../../base/backoff.ts";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { objectKey } from "../../istio-api/config-object.ts";
import type { ClusterApi } from "../cluster/cluster-api.ts";
import type { KubernetesRule, RuleOrigin } from "../stores/create-kubernetes-store.ts";
import type { Finding } from "./core/findings.ts";
import { nextStatus } from "./core/rule-status.ts";

export interface StatusWriterOptions {
  readonly api: Pick<ClusterApi, "patch">;
  /** As the API server has them now. */
  rules(): readonly KubernetesRule[];
  findings(): ReadonlyMap<string, readonly Finding[]>;
  isLeader(): boolean;
  readonly log: Logger;
  readonly now?: () => Date;
}

export interface StatusWriter extends Handle {
  /** Compares all objects with what their status should say, and writes those that differ. */
  reconcile(): Promise<void>;
}

const CONCURRENT = 4;
const FIELD_MANAGER = "pilot-discovery";
/** After a refusal the kind is left alone for this time. */
const RETRY: BackoffOptions = { initialMs: 5000, maxMs: 300_000, factor: 2, jitter: 0.1 };

/** Writes the status of rule objects, by the one replica that holds the lease. */
export function startStatusWriter(options: StatusWriterOptions): StatusWriter {
  const { api, rules, findings, isLeader, log, now = () => new Date() } = options;
  /** Kinds that could not be written: until when they are left alone. */
  const refused = new Map<string, { readonly until: number; readonly failures: number }>();
  let isStopped = false;
  let retry: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;

  const write = async ({ ref }: KubernetesRule, origin: RuleOrigin, found: readonly Finding[]): Promise<void> => {
    const { resource, generation, resourceVersion, status } = origin;
    const patch = nextStatus(status, { findings: found, generation, now: now() });
    if (patch === undefined) return;
    // The version makes it a write of what was seen: another writer's condition of this moment is not overwritten.
    const body = { metadata: { resourceVersion }, status: patch };
    const at = { ...resource, namespace: ref.namespace };
    try {
      await api.patch(at, ref.name, body, { type: "merge", subresource: "status", fieldManager: FIELD_MANAGER });
      refused.delete(resource.plural);
    } catch (thrown) {
      // What is newer, or gone, comes with the watch.
      const code = errorCode(thrown);
      if (code === "conflict" || code === "not-found") return;
      const failures = (refused.get(resource.plural)?.failures ?? 0) + 1;
      refused.set(resource.plural, { failures, until: performance.now() + backoffDelayMs(RETRY, failures) });
      if (failures === 1 || failures % 10 === 0)
        log.warn("status cannot be written", { kind: ref.kind, error: errorMessage(thrown), failures });
    }
  };
  const reconcileAll = async (): Promise<void> => {
    if (isStopped || !isLeader()) return;
    const found = findings();
    const due = rules().flatMap((rule) => {
      const own = found.get(objectKey(rule.ref)) ?? [];
      // Entries of workloads come and go with streams and have a health of their own to say.
      if (rule.origin === undefined || (rule.ref.kind === "WorkloadEntry" && own.length === 0)) return [];
      return nextStatus(rule.origin.status, { findings: own, generation: rule.origin.generation, now: now() })
        ? [{ rule, origin: rule.origin, own }]
        : [];
    });
    const lane = async () => {
      for (let next = due.shift(); next !== undefined; next = due.shift()) {
        if (isStopped || !isLeader()) return;
        if ((refused.get(next.origin.resource.plural)?.until ?? 0) > performance.now()) continue;
        await write(next.rule, next.origin, next.own);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT }, lane));
    const first = Math.min(...[...refused.values()].map(({ until }) => until));
    clearTimeout(retry);
    if (!isStopped && Number.isFinite(first))
      retry = setTimeout(() => void reconcile(), Math.max(1000, first - performance.now()));
  };
  const reconcile = (): Promise<void> => {
    running = (running ?? Promise.resolve()).then(reconcileAll);
    return running;
  };
  return toHandle({
    reconcile,
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      isStopped = true;
      clearTimeout(retry);
      await running;
    },
  });
}
