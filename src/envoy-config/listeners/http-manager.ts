import type { ProxyHeaders } from "../../istio-api/proxy-config/proxy-config.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { AccessLog } from "../../protobuf/gen/envoy/config/accesslog/v3.ts";
import type { Http1ProtocolOptions } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { Filter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type {
  HttpConnectionManager,
  HttpFilter,
} from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { sessionFilter } from "../routes/sessions.ts";
import { PRESERVED_CASE } from "../shared/header-case.ts";
import { messageFilters } from "../telemetry/metrics.ts";
import type { ManagerTracing } from "../telemetry/tracing.ts";

/** What the HTTP managers of one proxy have in common. */
export interface HttpManagerSettings {
  readonly pathNormalization: MeshSettings["pathNormalization"];
  readonly accessLog: readonly AccessLog[];
  readonly headers: ProxyHeaders;
  readonly http1: Http1ProtocolOptions;
  readonly idleTimeout: string;
  readonly tracing: ManagerTracing["settings"];
}

/** What the proxy itself says goes before the mesh's default. */
export function httpManagerSettings(
  mesh: MeshSettings,
  { listening, preservesHeaderCase }: Pick<ProxyNode, "listening" | "preservesHeaderCase">,
  accessLog: readonly AccessLog[],
  tracing: ManagerTracing,
): HttpManagerSettings {
  const keepsCase = preservesHeaderCase ?? mesh.preservesHeaderCase;
  return {
    pathNormalization: mesh.pathNormalization,
    accessLog,
    headers: listening.headers ?? mesh.proxyHeaders,
    http1: { ...(listening.http10 && { acceptHttp10: true }), ...(keepsCase && PRESERVED_CASE) },
    idleTimeout: listening.idleTimeout,
    tracing: tracing.settings,
  };
}

/** Required members, and what else distinguishes this one. */
type HttpManagerOptions = Omit<HttpConnectionManager, "statPrefix" | "httpFilters" | "accessLog"> &
  Required<Pick<HttpConnectionManager, "statPrefix" | "httpFilters">>;

export function httpManagerFilter(settings: HttpManagerSettings, options: HttpManagerOptions): Filter {
  const { headers, idleTimeout, accessLog, tracing } = settings;
  const { httpFilters = [] } = options;
  const http1 = { ...options.httpProtocolOptions, ...settings.http1 };
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
      // Just before the router, which is the last.
      httpFilters: [...httpFilters.slice(0, -1), ...messageFilters(accessLog), ...httpFilters.slice(-1)],
      ...(Object.keys(http1).length > 0 && { httpProtocolOptions: http1 }),
      ...(idleTimeout !== "" && { commonHttpProtocolOptions: { idleTimeout } }),
      ...serverHeader(headers, options.serverName),
      ...(headers.requestId?.disabled === true && { generateRequestId: false }),
      ...(headers.xForwardedPort?.enabled === true && { appendXForwardedPort: true }),
      ...(accessLog.length > 0 && { accessLog }),
      ...withOperation(tracing, options.tracing?.operation),
    }),
  };
}

/** What a manager itself says of spans is their name. */
function withOperation(
  settings: HttpManagerSettings["tracing"],
  operation: string | undefined,
): Partial<HttpConnectionManager> {
  if (settings.tracing === undefined || operation === undefined) return { tracing: undefined, ...settings };
  return { ...settings, tracing: { ...settings.tracing, operation } };
}

/** The name that responses are given, or that of the application behind. */
function serverHeader({ server }: ProxyHeaders, serverName: string | undefined): Partial<HttpConnectionManager> {
  if (server?.disabled === true) return { serverName: undefined, serverHeaderTransformation: "PASS_THROUGH" };
  const name = server?.value || serverName;
  return name === undefined ? {} : { serverName: name };
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

interface HttpFilterOptions {
  /** Some service behind the chain speaks gRPC-Web. */
  readonly grpcWeb?: boolean;
  /** Responses carry no debug headers of Envoy. */
  readonly hidesDebugHeaders?: boolean;
  /** ext_authz, jwt_authn and rbac, in this order. */
  readonly security?: readonly HttpFilter[];
  /** For services whose hosts are looked up as they are called. */
  readonly lookup?: HttpFilter | undefined;
  /** Routes say which clients are held at one endpoint. */
  readonly sessions?: boolean;
}

/** The filters of an HTTP chain in their order. What only counts is left out; fault and cors do nothing until a route says so. */
export function buildHttpFilters(options: HttpFilterOptions): readonly HttpFilter[] {
  const { grpcWeb = false, hidesDebugHeaders = false, security = [], lookup, sessions = false } = options;
  const router = hidesDebugHeaders ? SILENT_ROUTER : ROUTER;
  const wanted = [...(sessions ? [NO_SESSIONS] : []), ...(lookup ? [lookup] : [])];
  return [...security, ...(grpcWeb ? [GRPC_WEB] : []), FAULT, CORS, ...wanted, router];
}

const NO_SESSIONS = sessionFilter();

const GRPC_WEB: HttpFilter = {
  name: "envoy.filters.http.grpc_web",
  typedConfig: pack("envoy.extensions.filters.http.grpc_web.v3.GrpcWeb", {}),
};
const FAULT: HttpFilter = {
  name: "envoy.filters.http.fault",
  typedConfig: pack("envoy.extensions.filters.http.fault.v3.HTTPFault", {}),
};
const CORS: HttpFilter = {
  name: "envoy.filters.http.cors",
  typedConfig: pack("envoy.extensions.filters.http.cors.v3.Cors", {}),
};
const ROUTER: HttpFilter = {
  name: "envoy.filters.http.router",
  typedConfig: pack("envoy.extensions.filters.http.router.v3.Router", {}),
};
const SILENT_ROUTER: HttpFilter = {
  name: ROUTER.name,
  typedConfig: pack("envoy.extensions.filters.http.router.v3.Router", { suppressEnvoyHeaders: true }),
};
