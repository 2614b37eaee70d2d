import { localityLbProblems } from "../../config/index.ts";
import type { ConsistentHash, LoadBalancer } from "../specs/destination-rule.ts";
import type { Report } from "./report.ts";
import { durationReason } from "./values.ts";

/** Envoy's limit for maglev tables. */
const MAX_TABLE_SIZE = 5000011;

/** How one of several endpoints is chosen. */
export function validateLoadBalancer(report: Report, settings: LoadBalancer | undefined): void {
  if (settings === undefined) return;
  const { consistentHash, localityLbSetting, warmup } = settings;
  if (consistentHash !== undefined) validateHash(report.at("consistentHash"), consistentHash);
  if (localityLbSetting !== undefined) {
    for (const { message } of localityLbProblems(localityLbSetting)) report.error(message, "localityLbSetting");
  }
  report.error(durationReason(settings.warmupDurationSecs), "warmupDurationSecs");
  if (warmup === undefined) return;
  const at = report.at("warmup");
  at.error(warmup.duration === undefined ? "duration is required" : durationReason(warmup.duration), "duration");
  const { minimumPercent = 0, aggression = 1 } = warmup;
  if (minimumPercent < 0 || minimumPercent > 100) {
    at.error(`minimumPercent value should be in range 0..100, found ${minimumPercent}`, "minimumPercent");
  }
  if (aggression < 1) at.error(`aggression should be greater than or equal to 1, found ${aggression}`, "aggression");
}

function validateHash(report: Report, hash: ConsistentHash): void {
  if (hash.httpCookie !== undefined) {
    report.error(hash.httpCookie.name === "" ? "name required for HttpCookie" : undefined, "httpCookie");
    const ttl = hash.httpCookie.ttl;
    // Zero makes a cookie of the session.
    if (ttl !== undefined && ttl !== "0s") report.error(durationReason(ttl), "httpCookie", "ttl");
  }
  if (hash.maglev === undefined || hash.maglev.tableSize === 0) return;
  const { tableSize } = hash.maglev;
  if (!isPrime(tableSize)) report.error("tableSize must be a prime number for maglev", "maglev", "tableSize");
  if (tableSize > MAX_TABLE_SIZE) {
    report.error(`tableSize must be less than or equal to ${MAX_TABLE_SIZE} for maglev`, "maglev", "tableSize");
  }
}

/** Numbers above the limit are refused anyway, so that the loop stays short. */
function isPrime(number: number): boolean {
  if (number < 2) return false;
  for (let factor = 2; factor * factor <= Math.min(number, MAX_TABLE_SIZE); factor += 1) {
    if (number % factor === 0) return false;
  }
  return true;
}
