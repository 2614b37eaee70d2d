import type { Logger } from "../base/logger.ts";
import type { Readiness, ReadinessReason } from "../base/readiness.ts";
import { type AdminClient, type EnvoyPhase, type EnvoyRules, envoyReadinessProbe } from "../envoy/index.ts";
import type { SecretManager } from "../identity/index.ts";

export interface EnvoyReadinessParts {
  readonly readiness: Readiness;
  readonly secrets: SecretManager;
  readonly log: Logger;
  readonly rules: EnvoyRules["readiness"];
  readonly uptimeMs: () => number;
  /** Why the agent is ending; undefined while it is not. */
  terminationCause(): string | undefined;
  onFirstReady(uptimeMs: number): void;
}

export interface EnvoyReadiness {
  onPhase(phase: EnvoyPhase): void;
  /** To be called once Envoy has an admin port. */
  watch(admin: AdminClient): void;
}

/** Envoy's part in readiness: not while it is being started again or ended, and else what its own statistics say. */
export function createEnvoyReadiness(parts: EnvoyReadinessParts): EnvoyReadiness {
  const { readiness, secrets } = parts;
  let phase: EnvoyPhase | "starting" = "starting";
  const why = () => {
    const cause = parts.terminationCause();
    return cause === undefined ? `Envoy is ${phase}` : parts.rules.terminated(cause);
  };
  const takeReason = () => readiness.take("envoy", why);
  let reason: ReadinessReason | undefined = takeReason();
  let forget: () => void = () => undefined;
  return {
    onPhase(next) {
      phase = next;
      // Another Envoy has to show its configuration again.
      if (next === "backing-off") forget();
      if (next === "running") {
        reason?.release();
        reason = undefined;
      } else {
        reason ??= takeReason();
      }
    },
    watch(admin) {
      const { log, rules, uptimeMs, terminationCause, onFirstReady } = parts;
      const probe = envoyReadinessProbe({ admin, log, rules, uptimeMs, terminationCause, onFirstReady });
      forget = () => probe.reset();
      readiness.addCheck("envoy", async () => {
        const why = await probe.check();
        const identity = why === undefined ? undefined : await secrets.unavailableReason();
        return identity === undefined ? why : `${why}; no workload certificate: ${identity}`;
      });
    },
  };
}
