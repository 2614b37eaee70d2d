import type { ObjectName, Service } from "../mesh-model/service.ts";
import type { EncodedResource } from "../xds/resource-source.ts";
import type { XdsType } from "../xds/xds-types.ts";
import type { ConflictKind, ListenerConflict } from "./listeners/listener-conflict.ts";
import { type Attempt, describeFailure } from "./shared/attempt.ts";

export interface ResourceProblem {
  /**
   * `left-out`: the resource is not sent. `refused-rule`: it is, without what a rule asks for and Envoy cannot do. `conflict`: of
   * two things that exclude each other one is sent. `not-there`: what was asked for by name cannot exist.
   */
  readonly effect: "left-out" | "refused-rule" | "conflict" | "not-there";
  /** Where two cannot be there together: which kind of conflict it is. */
  readonly conflict?: ConflictKind;
  /** Left out because another resource has the name. */
  readonly isRepeated?: boolean;
  readonly type: XdsType;
  readonly resource: string;
  readonly reason: string;
  /** That something could not be made of. */
  readonly object?: ObjectName;
}

/** Runs what makes resources; one that cannot be made is reported and left out, so that it never blocks the others. */
export interface ResourceGuard {
  each<Item>(
    type: XdsType,
    items: readonly Item[],
    nameOf: (item: Item) => string,
    encode: (item: Item) => EncodedResource,
    of?: Service | ObjectName,
  ): readonly EncodedResource[];
  /** The result; undefined where it cannot be had, which is reported. */
  attempt<Made>(type: XdsType, resource: string, make: () => Made, of?: Service | ObjectName): Made | undefined;
  /** The same for parts of resources of the type. */
  attempts(type: XdsType): Attempt;
  report(problem: ResourceProblem): void;
  conflicts(conflicts: readonly ListenerConflict[]): void;
}

export function createResourceGuard(onProblem: (problem: ResourceProblem) => void): ResourceGuard {
  const attempt: ResourceGuard["attempt"] = (type, resource, make, of) => {
    try {
      return make();
    } catch (thrown) {
      onProblem({ effect: "left-out", type, resource, ...describeFailure(thrown, of) });
      return undefined;
    }
  };
  return {
    attempt,
    attempts: (type) => (subject, make, of) => attempt(type, subject, make, of),
    report: onProblem,
    conflicts(conflicts) {
      for (const { kind, listener, winner, dropped } of conflicts) {
        const reason = winner === "" ? `${dropped} is left out: ${kind}` : `${dropped} loses to ${winner}: ${kind}`;
        onProblem({ effect: "conflict", conflict: kind, type: "LDS", resource: listener, reason });
      }
    },
    each(type, items, nameOf, encode, of) {
      return items.flatMap((item) => attempt(type, nameOf(item), () => encode(item), of) ?? []);
    },
  };
}

/** Of several resources of one name the first is sent: a proxy refuses an answer that has a name twice. */
export function onlyUnique(
  resources: readonly EncodedResource[],
  onDuplicate: (resource: EncodedResource) => void,
): readonly EncodedResource[] {
  const seen = new Set<string>();
  return resources.filter((resource) => {
    if (!seen.has(resource.name)) {
      seen.add(resource.name);
      return true;
    }
    onDuplicate(resource);
    return false;
  });
}
