import { PROXY_CONTAINER } from "../context.ts";
import type { InjectionRules } from "../rules.ts";
import type { Outcome } from "./inject-text.ts";

/** What a person should know of workloads that were left out, one paragraph each. */
export function skipWarnings(outcomes: readonly Outcome[], rules: InjectionRules): readonly string[] {
  return outcomes
    .filter(({ decision }) => !decision.inject)
    .map(({ title, name, decision }) => {
      const [arrow, what] = rules.skippedBy === "name" ? ["", `"${name}"`] : ["===> ", title];
      return `${arrow}Skipping injection because ${what} has ${whyNot(decision)}\n`;
    });
}

function whyNot({ by }: Outcome["decision"]): string {
  if (by === "host-network") return "host networking enabled";
  return by === "already-injected" ? `injected "${PROXY_CONTAINER}" sidecar already` : "sidecar injection disabled";
}
