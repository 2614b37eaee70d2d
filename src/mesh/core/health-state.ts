import type { HealthCheck } from "./mesh-file.ts";

/** What is known of an application by its health check. */
export type Health =
  /** It has not been healthy since it was started. */
  | { readonly state: "starting"; readonly reason: string }
  | { readonly state: "healthy" }
  | { readonly state: "unhealthy"; readonly reason: string };

export interface HealthRecord {
  readonly health: Health;
  /** In a row. */
  readonly failures: number;
  /** Of the process that was checked: another one starts over. */
  readonly pid: number;
  readonly since: number;
}

export function freshHealth(pid: number, now: number): HealthRecord {
  return { health: { state: "starting", reason: "its health check has not passed yet" }, failures: 0, pid, since: now };
}

/** After one check; `failure` is undefined when it passed. */
export function nextHealth(
  record: HealthRecord,
  failure: string | undefined,
  { retries, startPeriodMs }: Pick<HealthCheck, "retries" | "startPeriodMs">,
  now: number,
): HealthRecord {
  if (failure === undefined) return { ...record, health: { state: "healthy" }, failures: 0 };
  const { health, since } = record;
  if (health.state === "starting" && now - since < startPeriodMs) {
    return { ...record, health: { state: "starting", reason: `health check: ${failure}` } };
  }
  const failures = record.failures + 1;
  if (failures >= retries) {
    const times = failures === 1 ? "" : ` (${failures} times in a row)`;
    return { ...record, failures, health: { state: "unhealthy", reason: `unhealthy: ${failure}${times}` } };
  }
  if (health.state === "starting")
    return { ...record, failures, health: { ...health, reason: `health check: ${failure}` } };
  return { ...record, failures };
}

/** Until the first success more often: others wait for it. */
const FIRST_INTERVAL_MS = 500;

export function untilNextCheck({ health }: HealthRecord, intervalMs: number): number {
  return health.state === "starting" ? Math.min(FIRST_INTERVAL_MS, intervalMs) : intervalMs;
}
