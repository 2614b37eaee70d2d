import { pack } from "../../../protocol/envoy/index.ts";
import type { AccessLog } from "../../../protocol/gen/envoy/config/accesslog/v3.ts";
import type { Filter } from "../../../protocol/gen/envoy/config/listener/v3.ts";
import type { HttpConnectionManager } from "../../../protocol/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import type { MeshSettings } from "../../snapshot/mesh-settings.ts";

/** What HTTP managers of one direction have in common. */
export interface HttpManagerSettings {
  readonly pathNormalization: MeshSettings["pathNormalization"];
  readonly accessLog: readonly AccessLog[];
}

/** Required members, and whatever else distinguishes this one. */
export type HttpManagerOptions = Omit<HttpConnectionManager, "statPrefix" | "httpFilters" | "accessLog"> &
  Required<Pick<HttpConnectionManager, "statPrefix" | "httpFilters">>;

export function httpManagerFilter(settings: HttpManagerSettings, options: HttpManagerOptions): Filter {
  return {
    name: "envoy.filters.network.http_connection_manager",
    typedConfig: pack("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", {
      ...PATH_RULES[settings.pathNormalization],
      // The address of the caller is that of the connection's other end in the mesh: nothing is to be trusted or added.
      useRemoteAddress: false,
      // Streams may be silent for as long as the application likes.
      streamIdleTimeout: "0s",
      proxy100Continue: true,
      upgradeConfigs: UPGRADES,
      ...options,
      ...(settings.accessLog.length > 0 && { accessLog: settings.accessLog }),
    }),
  };
}

/** Zero: the listener waits for its routes instead of answering 404 without them. */
export function routesFrom(routeConfigName: string): Pick<HttpConnectionManager, "rds"> {
  return { rds: { configSource: ADS, routeConfigName } };
}

const ADS = { ads: {}, initialFetchTimeout: "0s", resourceApiVersion: "V3" } as const;
const UPGRADES = [{ upgradeType: "websocket" }] as const;

const BASE = { normalizePath: true } as const;
const PATH_RULES: Readonly<Record<MeshSettings["pathNormalization"], Partial<HttpConnectionManager>>> = {
  DEFAULT: BASE,
  NONE: { normalizePath: false },
  BASE,
  MERGE_SLASHES: { ...BASE, mergeSlashes: true },
  DECODE_AND_MERGE_SLASHES: {
    ...BASE,
    mergeSlashes: true,
    pathWithEscapedSlashesAction: "UNESCAPE_AND_FORWARD",
  },
};
