import { type BackoffOptions, backoffDelayMs } from "../../base/backoff.ts";
import type { KubernetesError } from "../kubernetes-error.ts";

/** What was going on: a streamed list, a paged list, the opening of a watch, or its events. */
export type Phase = "stream" | "list" | "open" | "events";

/** What follows a failure. */
export interface Recovery {
  /** "watch" goes on from the last version; "list" reads everything not older than it; "list-latest" reads what is stored, of any version. */
  readonly next: "watch" | "list" | "list-latest";
  /** Exactly so long, or as the back-off says. */
  readonly waitMs?: number;
  /** Streamed lists are not offered: not this time, or not at all. */
  readonly pages?: "once" | "always";
}

/** By the rules that Kubernetes' own clients follow. */
export function recoveryOf(
  { code, status, retryAfterMs }: Pick<KubernetesError, "code" | "status" | "retryAfterMs">,
  phase: Phase,
): Recovery {
  const waits = retryAfterMs === undefined ? {} : { waitMs: retryAfterMs };
  const isWatch = phase === "open" || phase === "events";
  switch (code) {
    case "gone":
    case "resource-version-too-large":
      return { next: "list-latest" };
    case "too-many-requests":
      return { next: isWatch ? "watch" : "list", ...waits };
    case "unreachable":
    case "timeout":
      return { next: isWatch ? "watch" : "list" };
    case "invalid":
      return phase === "stream" ? { next: "list", waitMs: 0, pages: "always" } : { next: "list" };
    case "server-error":
      // A store that cannot stream lists makes the server answer 500.
      if (phase === "stream" && status === 500) return { next: "list", waitMs: 0, pages: "once" };
      return { next: phase === "open" ? "watch" : "list", ...waits };
    default:
      return { next: "list" };
  }
}

/** 0.8 to 1.2 s at first, 20 to 30 s at last. */
const DEFAULT_BACKOFF: BackoffOptions = { initialMs: 1000, maxMs: 25_000, factor: 2, jitter: 0.2 };
const HEALTHY_MS = 2 * 60 * 1000;

/** Delays that grow with each failure; two minutes without one and they begin again. */
export class FailureDelay {
  readonly #backoff: BackoffOptions;
  #failures = 0;
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(backoff: BackoffOptions = DEFAULT_BACKOFF) {
    this.#backoff = backoff;
  }

  next(nowMs: number, random: () => number = Math.random): number {
    if (nowMs - this.#lastAt > HEALTHY_MS) this.#failures = 0;
    this.#failures += 1;
    this.#lastAt = nowMs;
    return backoffDelayMs(this.#backoff, this.#failures, random);
  }
}

/** Servers hand out versions that are numbers that grow; of others nothing is known. */
export function isOlderVersion(version: string, than: string): boolean {
  if (!/^\d+$/.test(version) || !/^\d+$/.test(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}
