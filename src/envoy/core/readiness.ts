import { readStat, type StatValue } from "./stat-line.ts";

export const CONFIG_STATS_FILTER =
  "^(cluster_manager\\.cds|listener_manager\\.lds)\\.(update_success|update_rejected)$";
export const SERVER_STATS_FILTER = "^(server\\.state|listener_manager\\.workers_started)";

const STATES = ["LIVE", "DRAINING", "PRE_INITIALIZING", "INITIALIZING"] as const;

/** Why Envoy has no complete configuration yet; undefined when clusters and listeners have arrived. */
export function configProblem(stats: string, reportsParts = true): string | undefined {
  const names = [
    "cluster_manager.cds.update_success",
    "cluster_manager.cds.update_rejected",
    "listener_manager.lds.update_success",
    "listener_manager.lds.update_rejected",
  ] as const;
  const values = names.map((name) => readStat(stats, name));
  const errors = values.flatMap((value) => (value !== undefined && "error" in value ? [value.error] : []));
  if (errors.length > 0) return errors.join("; ");
  const [cds = 0, cdsRejected = 0, lds = 0, ldsRejected = 0] = values.map(countOf);
  if (cds > 0 && lds > 0) return undefined;
  const summary = `cds updates: ${cds} successful, ${cdsRejected} rejected; lds updates: ${lds} successful, ${ldsRejected} rejected`;
  if (!reportsParts) return `config not received from Pilot (is Pilot running?): ${summary}`;
  if (cds === 0 && lds === 0) {
    return `config not received from XDS server (is Istiod running?): ${summary}`;
  }
  if (cdsRejected + ldsRejected > 0) return `config received from XDS server, but was rejected: ${summary}`;
  return `config not fully received from XDS server: ${summary}`;
}

/** Why Envoy does not serve yet; undefined when it is live and its workers run. */
export function serverProblem(stats: string): string | undefined {
  for (const name of ["server.state", "listener_manager.workers_started"]) {
    if (!stats.includes(name)) return `failed to get readiness stats: ${name} is not yet updated: ${stats}`;
  }
  const state = readStat(stats, "server.state");
  const workers = readStat(stats, "listener_manager.workers_started");
  const errors = [state, workers].flatMap((value) => (value !== undefined && "error" in value ? [value.error] : []));
  if (errors.length > 0) return `failed to get readiness stats: ${errors.join("; ")}`;
  if (countOf(state) !== 0) return `server is not live, current state is: ${STATES[countOf(state)] ?? "UNKNOWN"}`;
  return countOf(workers) === 1 ? undefined : "workers have not yet started";
}

function countOf(value: StatValue): number {
  return value !== undefined && "value" in value ? value.value : 0;
}
