import { errorMessage } from "../../base/coded-error.ts";
import { createDebounced } from "../../base/debounce.ts";
import type { Logger } from "../../base/logger.ts";
import type { Gauge } from "../../base/metric-registry.ts";
import type { PushChanges } from "../../mesh-model/changes/push-changes.ts";
import type { PushSnapshot, RuleProblem } from "../../mesh-model/push-snapshot.ts";

export interface ProblemWatchOptions {
  readonly snapshot: () => Pick<PushSnapshot, "problems">;
  /** VirtualServices that lose a host to an older one. */
  readonly repeatedHosts: Gauge;
  /** DestinationRules that lose a subset to an older one. */
  readonly repeatedSubsets: Gauge;
  readonly log: Logger;
  /** Looking costs more than a push may wait for: it is done when a burst of pushes is over; 500 ms. */
  readonly quietMs?: number;
}

export interface ProblemWatch {
  /** A snapshot was made from these changes. */
  note(changes: PushChanges): void;
  stop(): Promise<void>;
}

/** At most so many are logged per pass; a mesh that collides as a whole must not fill the log. */
const TOLD_AT_ONCE = 50;

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
