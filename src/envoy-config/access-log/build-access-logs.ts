import type { AccessLogSettings } from "../../mesh-model/mesh-settings.ts";
import type { AccessLog, AccessLogFilter } from "../../protobuf/gen/envoy/config/accesslog/v3.ts";
import { fileLog, meshFormat } from "./file-log.ts";

/** Where the listeners of one direction write their lines. */
export interface AccessLogs {
  /** Of HTTP managers and TCP proxies. */
  readonly traffic: readonly AccessLog[];
  /** Of a listener itself: connections for which no filter chain was found, which nobody else would tell of. */
  readonly listener: readonly AccessLog[];
}

export const NO_ACCESS_LOGS: AccessLogs = { traffic: [], listener: [] };

/** What the mesh's settings ask for. */
export function buildAccessLogs(settings: AccessLogSettings): AccessLogs {
  return settings.file === "" ? NO_ACCESS_LOGS : toAccessLogs([fileLog(settings.file, meshFormat(settings))]);
}

/** The same logs for traffic and for what the listener itself has to tell. */
export function toAccessLogs(traffic: readonly AccessLog[]): AccessLogs {
  return {
    traffic,
    listener: traffic.map((log) => ({
      ...log,
      filter: log.filter === undefined ? NO_CHAIN : { andFilter: { filters: [NO_CHAIN, log.filter] } },
    })),
  };
}

const NO_CHAIN: AccessLogFilter = { responseFlagFilter: { flags: ["NR"] } };
