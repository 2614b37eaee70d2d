import type { Outcome } from "./inject-text.ts";

/** What a person should know of workloads that were left out, one paragraph each. */
export function skipWarnings(outcomes: readonly Outcome[]): readonly string[] {
  return outcomes
    .filter(({ decision }) => !decision.inject)
    .map(({ title, decision }) => {
      const why = decision.by === "host-network" ? "host networking enabled" : "sidecar injection disabled";
      return `===> Skipping injection because ${title} has ${why}\n`;
    });
}
