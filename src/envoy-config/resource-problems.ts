import type { EncodedResource } from "../xds/resource-source.ts";
import type { XdsType } from "../xds/xds-types.ts";
import type { ConflictKind, ListenerConflict } from "./listeners/listener-conflict.ts";

export interface ResourceProblem {
  /**
   * `left-out`: the resource is not sent. `refused-rule`: it is, without what a rule asks for and Envoy cannot do. `conflict`: of
   * two things that exclude each other one is sent.
   */
  readonly effect: "left-out" | "refused-rule" | "conflict";
  /** Where two cannot be there together: which kind of conflict it is. */
  readonly conflict?: ConflictKind;
  /** Left out because another resource has the name. */
  readonly isRepeated?: boolean;
  readonly type: XdsType;
  readonly resource: string;
  readonly reason: string;
}

/** Runs what makes resources; one that cannot be made is reported and left out, so that it never blocks the others. */
export interface ResourceGuard {
  each<Item>(
    type: XdsType,
    items: readonly Item[],
    nameOf: (item: Item) => string,
    encode: (item: Item) => EncodedResource,
  ): readonly EncodedResource[];
  report(problem: ResourceProblem): void;
  conflicts(conflicts: readonly ListenerConflict[]): void;
}

export function createResourceGuard(onProblem: (problem: ResourceProblem) => void): ResourceGuard {
  return {
    report: onProblem,
    conflicts(conflicts) {
      for (const { kind, listener, winner, dropped } of conflicts) {
        const reason = winner === "" ? `${dropped} is left out: ${kind}` : `${dropped} loses to ${winner}: ${kind}`;
        onProblem({ effect: "conflict", conflict: kind, type: "LDS", resource: listener, reason });
      }
    },
    each(type, items, nameOf, encode) {
      return items.flatMap((item) => {
        const resource = nameOf(item);
        try {
          return [encode(item)];
        } catch (thrown) {
          onProblem({
            effect: "left-out",
            type,
            resource,
            reason: thrown instanceof Error ? thrown.message : String(thrown),
          });
          return [];
        }
      });
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
