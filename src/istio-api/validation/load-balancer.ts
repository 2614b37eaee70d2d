import { localityLbProblems } from "../mesh-config/locality-lb.ts";
import type { ConsistentHash, LoadBalancer, ZoneAwareLb } from "../specs.ts";
import { TOPOLOGY } from "../values/topology-labels.ts";
import { each, type Report } from "./report.ts";
import { durationReason, nonNegativeDurationReason } from "./values.ts";

/** Envoy takes maglev tables up to this size, the reference below it. */
const MAX_TABLE_SIZE = 5000011;

/** How one of several endpoints is chosen. */
export function validateLoadBalancer(report: Report, settings: LoadBalancer | undefined): void {
  if (settings === undefined) return;
  const { consistentHash, localityLbSetting, warmup } = settings;
  if (consistentHash !== undefined) validateHash(report.at("consistentHash"), consistentHash);
  if (localityLbSetting !== undefined) {
    for (const { message } of localityLbProblems(localityLbSetting)) report.error(message, "localityLbSetting");
  }
  if (settings.zoneAwareLbSetting !== undefined) {
    if (localityLbSetting !== undefined) {
      report.error("only one of localityLbSetting and zoneAwareLbSetting can be set", "zoneAwareLbSetting");
    }
    validateZones(report.at("zoneAwareLbSetting"), settings.zoneAwareLbSetting);
  }
  report.error(nonNegativeDurationReason(settings.warmupDurationSecs), "warmupDurationSecs");
  if (warmup === undefined) return;
  const at = report.at("warmup");
  at.error(warmup.duration === undefined ? "duration is required" : durationReason(warmup.duration), "duration");
  const { minimumPercent = 0, aggression = 1 } = warmup;
  if (minimumPercent < 0 || minimumPercent > 100) {
    at.error(`minimumPercent value should be in range 0..100, found ${minimumPercent}`, "minimumPercent");
  }
  if (aggression <= 0) at.error(`aggression should be greater than 0, found ${aggression}`, "aggression");
}

const BUILT_IN: ReadonlySet<string> = new Set([TOPOLOGY.region, TOPOLOGY.zone, TOPOLOGY.subzone]);

/** Within a region traffic stays near by itself; only the order of regions can be set. */
function validateZones(report: Report, { failover, failoverPriority }: ZoneAwareLb): void {
  failoverPriority.forEach((label, index) => {
    if (!BUILT_IN.has(label)) return;
    const why = "region- and zone-level routing are handled automatically";
    const message = `'failover_priority' for zone aware lb must not use topology label '${label}'; ${why}`;
    report.error(message, "failoverPriority", index);
  });
  each(report, "failover", failover, (at, { from, to }) => {
    const text = `${from}${to}`;
    if (from === to) at.error("zone aware lb failover settings must specify different regions");
    if (text.includes("/")) {
      at.error("zone aware lb failover only specifies region; zone and subzone failover are handled automatically");
    }
    if (text.includes("*")) at.error("zone aware lb failover region should not contain '*' wildcard");
  });
}

function validateHash(report: Report, hash: ConsistentHash): void {
  if (hash.httpCookie !== undefined) {
    report.error(hash.httpCookie.name === "" ? "name required for HttpCookie" : undefined, "httpCookie");
    // Zero makes a cookie of the session.
    report.error(nonNegativeDurationReason(hash.httpCookie.ttl), "httpCookie", "ttl");
    const names = hash.httpCookie.attributes.map(({ name }) => name);
    each(report.at("httpCookie"), "attributes", names, (at, name, index) => {
      if (name === "") at.error("cookie attribute name cannot be empty", "name");
      else if (names.indexOf(name) < index) at.error(`duplicate cookie attribute name: ${name}`, "name");
    });
  }
  if (hash.minimumRingSize !== 0 && (hash.ringHash !== undefined || hash.maglev !== undefined)) {
    report.error("only one of MinimumRingSize or Maglev/Ringhash can be specified", "minimumRingSize");
  }
  if (hash.maglev !== undefined) report.error(tableSizeReason(hash.maglev.tableSize), "maglev", "tableSize");
}

function tableSizeReason(size: number): string | undefined {
  if (size === 0) return "tableSize must be set for maglev";
  if (size >= MAX_TABLE_SIZE) return `tableSize must be less than ${MAX_TABLE_SIZE} for maglev`;
  return isPrime(size) ? undefined : "tableSize must be a prime number for maglev";
}

function isPrime(number: number): boolean {
  if (number < 2) return false;
  for (let factor = 2; factor * factor <= number; factor += 1) {
    if (number % factor === 0) return false;
  }
  return true;
}
