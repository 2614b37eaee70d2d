import type { EnvoyFilterSpec, EnvoyPatch } from "../specs.ts";
import { readPatchValue } from "../values/patch-value.ts";
import { validateLabels } from "./labels.ts";
import { re2Problem } from "./re2-problem.ts";
import { each, type Report } from "./report.ts";
import { validateTargetRefs } from "./target-ref.ts";

type ApplyTo = EnvoyPatch["applyTo"];
type Operation = NonNullable<EnvoyPatch["patch"]>["operation"];

/** Changes of what proxies get. One that every proxy would refuse is reported and left out; the others stay. */
export function validateEnvoyFilter(
  report: Report,
  { workloadSelector, targetRefs, configPatches }: EnvoyFilterSpec,
): void {
  validateLabels(report.at("workloadSelector", "labels"), workloadSelector?.labels ?? {});
  if (workloadSelector !== undefined && Object.keys(workloadSelector.labels).length === 0) {
    report.warn("a selector without labels selects every workload of the namespace", "workloadSelector");
  }
  validateTargetRefs(report, { ...(workloadSelector && { selector: workloadSelector }), targetRefs });
  each(report, "configPatches", configPatches, validatePatch);
}

function validatePatch(report: Report, { applyTo, match, patch }: EnvoyPatch): void {
  const { operation = "INVALID", value } = patch ?? {};
  const missing = missingPart(applyTo, operation, value);
  report.error(missing);
  if (missing !== undefined) return;
  if (match !== undefined) validateMatch(report.at("match"), applyTo, match);
  const idle = idleReason(applyTo, operation, match?.context ?? "ANY");
  report.warn(idle);
  const read = operation === "REMOVE" || idle !== undefined ? {} : readPatchValue(applyTo, value);
  if (typeof read === "string") report.warn(`the patch is left out: ${read}`, "patch", "value");
}

function missingPart(applyTo: ApplyTo, operation: Operation, value: unknown): string | undefined {
  if (applyTo === "INVALID") return "missing applyTo";
  if (operation === "INVALID") return "missing patch operation";
  const isWithout = operation !== "REMOVE" && value === undefined;
  return isWithout ? "missing patch value for non-remove operation" : undefined;
}

/** Whoever wrote it must not believe that it is in force. */
function idleReason(applyTo: ApplyTo, operation: Operation, context: string): string | undefined {
  if (context === "WAYPOINT") return "context WAYPOINT has no effect: there are no waypoints";
  return OPERATIONS[applyTo].includes(operation) ? undefined : `operation ${operation} has no effect on ${applyTo}`;
}

const INSERTS = ["ADD", "INSERT_FIRST", "INSERT_BEFORE", "INSERT_AFTER"] as const;
const MERGES = ["MERGE", "MERGE_AND_REPLACE_LIST"] as const;
const OF_THINGS: readonly Operation[] = [...INSERTS, ...MERGES, "REMOVE"];
const OF_FILTERS: readonly Operation[] = [...INSERTS, "MERGE", "REMOVE", "REPLACE"];

/** What can be done to each kind of thing; where order does not count, inserting is adding. */
const OPERATIONS: Readonly<Record<ApplyTo, readonly Operation[]>> = {
  INVALID: [],
  BOOTSTRAP: MERGES,
  CLUSTER: OF_THINGS,
  LISTENER: OF_THINGS,
  FILTER_CHAIN: OF_THINGS,
  HTTP_ROUTE: OF_THINGS,
  VIRTUAL_HOST: [...OF_THINGS, "REPLACE"],
  ROUTE_CONFIGURATION: MERGES,
  EXTENSION_CONFIG: INSERTS,
  LISTENER_FILTER: OF_FILTERS,
  NETWORK_FILTER: OF_FILTERS,
  HTTP_FILTER: OF_FILTERS,
};

const HTTP_MANAGERS = ["envoy.filters.network.http_connection_manager", "envoy.http_connection_manager"];

function validateMatch(report: Report, applyTo: ApplyTo, match: NonNullable<EnvoyPatch["match"]>): void {
  validateVersion(report.at("proxy", "proxyVersion"), match.proxy?.proxyVersion ?? "");
  const named = (["listener", "routeConfiguration", "cluster"] as const).find((name) => match[name] !== undefined);
  const wanted = MATCHES[applyTo];
  if (named !== undefined && wanted !== undefined && named !== wanted) {
    report.error(`applyTo ${applyTo} goes with a match on ${wanted}, found one on ${named}`, named);
    return;
  }
  const filter = match.listener?.filterChain?.filter;
  if (filter === undefined) return;
  const at = report.at("listener", "filterChain", "filter");
  if (applyTo === "LISTENER" || applyTo === "FILTER_CHAIN") {
    at.warn(`filter match has no effect when used with ${applyTo}`);
  }
  if (filter.name === "") at.error("filter match has no name to match on", "name");
  if (filter.subFilter === undefined) return;
  if (applyTo !== "HTTP_FILTER") at.error("subfilter match can be used with applyTo HTTP_FILTER only", "subFilter");
  if (!HTTP_MANAGERS.includes(filter.name)) {
    at.error(`subfilter match requires filter match with ${HTTP_MANAGERS[0]}`, "subFilter");
  }
  if (filter.subFilter.name === "") at.error("subfilter match has no name to match on", "subFilter", "name");
}

const MATCHES: Readonly<Partial<Record<ApplyTo, "listener" | "routeConfiguration" | "cluster">>> = {
  LISTENER: "listener",
  FILTER_CHAIN: "listener",
  NETWORK_FILTER: "listener",
  HTTP_FILTER: "listener",
  LISTENER_FILTER: "listener",
  ROUTE_CONFIGURATION: "routeConfiguration",
  VIRTUAL_HOST: "routeConfiguration",
  HTTP_ROUTE: "routeConfiguration",
  CLUSTER: "cluster",
};

function validateVersion(report: Report, pattern: string): void {
  if (pattern.length > 1024) {
    report.warn("proxyVersion match exceeds 1024 characters: the patch is for no proxy");
    return;
  }
  const problem = pattern === "" ? undefined : re2Problem(pattern);
  if (problem !== undefined) report.error(`invalid regex for proxy version: ${problem}`);
}
