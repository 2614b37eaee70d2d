import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { AccessLog } from "../../protobuf/gen/envoy/config/accesslog/v3.ts";
import type { CommonGrpcAccessLogConfig } from "../../protobuf/gen/envoy/extensions/access_loggers/grpc/v3.ts";
import type { JsonObject } from "../../protobuf/wire/struct.ts";
import type { ProviderServer } from "../shared/cluster-name.ts";
import {
  DEFAULT_JSON_FORMAT,
  DEFAULT_TEXT_FORMAT,
  fileLog,
  formattersFor,
  jsonFormat,
  meshFormat,
  textFormat,
} from "./file-log.ts";

/** A provider of the mesh settings; of its kinds only those that log are read. */
export interface LogProvider {
  readonly name: string;
  readonly envoyFileAccessLog?: {
    readonly path?: string;
    readonly logFormat?: LogFormat;
    readonly omitEmptyValues?: boolean;
  };
  readonly envoyHttpAls?: GrpcLogSettings;
  readonly envoyTcpAls?: GrpcLogSettings;
  readonly envoyOtelAls?: GrpcLogSettings & { readonly logFormat?: LogFormat };
}

interface LogFormat {
  readonly text?: string;
  readonly labels?: JsonObject;
}

interface GrpcLogSettings {
  readonly service?: string;
  readonly port?: number;
  readonly logName?: string;
  readonly filterStateObjectsToLog?: readonly string[];
  readonly additionalRequestHeadersToLog?: readonly string[];
  readonly additionalResponseHeadersToLog?: readonly string[];
  readonly additionalResponseTrailersToLog?: readonly string[];
}

/** Finds the cluster of a provider's service; a text says why there is none. */
export type FindServer = (service: string, port: number) => ProviderServer | string;

/** The provider's log without any filter. Undefined: it is not a provider of logs. A text: it cannot be written to, and why. */
export function providerLog(
  provider: LogProvider,
  accessLog: MeshSettings["accessLog"],
  find: FindServer,
): AccessLog | string | undefined {
  const { envoyFileAccessLog, envoyHttpAls, envoyTcpAls, envoyOtelAls } = provider;
  if (envoyFileAccessLog !== undefined) return providerFile(provider.name, envoyFileAccessLog, accessLog);
  if (envoyHttpAls !== undefined) return withServer(envoyHttpAls, find, (server) => httpLog(envoyHttpAls, server));
  if (envoyTcpAls !== undefined) return withServer(envoyTcpAls, find, (server) => tcpLog(envoyTcpAls, server));
  return envoyOtelAls && withServer(envoyOtelAls, find, (server) => otelLog(envoyOtelAls, server));
}

function providerFile(
  name: string,
  { path = "", logFormat, omitEmptyValues = false }: NonNullable<LogProvider["envoyFileAccessLog"]>,
  accessLog: MeshSettings["accessLog"],
): AccessLog {
  const file = path || "/dev/stdout";
  // The provider that every mesh has writes as the mesh settings say, unless it has settings of its own.
  if (name === "envoy" && logFormat === undefined && !omitEmptyValues) return fileLog(file, meshFormat(accessLog));
  const { text = "", labels } = logFormat ?? {};
  const isEmpty = labels === undefined || Object.keys(labels).length === 0;
  const format = labels === undefined ? textFormat(text) : jsonFormat(isEmpty ? DEFAULT_JSON_FORMAT : labels);
  return fileLog(file, { ...format, ...(omitEmptyValues && { omitEmptyValues }) });
}

function withServer(
  { service = "", port = 0 }: GrpcLogSettings,
  find: FindServer,
  build: (server: ProviderServer) => AccessLog,
): AccessLog | string {
  const server = find(service, port);
  return typeof server === "string" ? server : build(server);
}

/** State that sidecars of the mesh keep of the other side, under its names of all generations. */
const PEER_STATE = ["upstream_peer", "downstream_peer"];
const OLDER_PEER_STATE = [
  "wasm.upstream_peer",
  "wasm.upstream_peer_id",
  "wasm.downstream_peer",
  "wasm.downstream_peer_id",
];

function commonConfig(
  logName: string,
  { cluster, host }: ProviderServer,
  filterStateObjectsToLog: readonly string[],
): CommonGrpcAccessLogConfig {
  return {
    logName,
    grpcService: { envoyGrpc: { clusterName: cluster, authority: host } },
    transportApiVersion: "V3",
    filterStateObjectsToLog,
  };
}

function stateOf({ filterStateObjectsToLog = [] }: GrpcLogSettings): readonly string[] {
  return filterStateObjectsToLog.length > 0 ? filterStateObjectsToLog : PEER_STATE;
}

function httpLog(settings: GrpcLogSettings, server: ProviderServer): AccessLog {
  const { additionalRequestHeadersToLog, additionalResponseHeadersToLog, additionalResponseTrailersToLog } = settings;
  return {
    name: "envoy.access_loggers.http_grpc",
    typedConfig: pack("envoy.extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig", {
      commonConfig: commonConfig(settings.logName || "http_envoy_accesslog", server, stateOf(settings)),
      additionalRequestHeadersToLog,
      additionalResponseHeadersToLog,
      additionalResponseTrailersToLog,
    }),
  };
}

function tcpLog(settings: GrpcLogSettings, server: ProviderServer): AccessLog {
  return {
    name: "envoy.tcp_grpc_access_log",
    typedConfig: pack("envoy.extensions.access_loggers.grpc.v3.TcpGrpcAccessLogConfig", {
      commonConfig: commonConfig(settings.logName || "tcp_envoy_accesslog", server, stateOf(settings)),
    }),
  };
}

function otelLog(settings: NonNullable<LogProvider["envoyOtelAls"]>, server: ProviderServer): AccessLog {
  const { text = "", labels = {} } = settings.logFormat ?? {};
  const body = text || DEFAULT_TEXT_FORMAT;
  const attributes = Object.keys(labels)
    .sort()
    .map((key) => ({ key, value: { stringValue: String(labels[key] ?? "") } }));
  const formatters = formattersFor([body, ...Object.values(labels)]);
  return {
    name: "envoy.access_loggers.open_telemetry",
    typedConfig: pack("envoy.extensions.access_loggers.open_telemetry.v3.OpenTelemetryAccessLogConfig", {
      commonConfig: commonConfig(settings.logName || "otel_envoy_accesslog", server, [
        ...PEER_STATE,
        ...OLDER_PEER_STATE,
      ]),
      disableBuiltinLabels: true,
      body: { stringValue: body },
      ...(attributes.length > 0 && { attributes: { values: attributes } }),
      ...(formatters.length > 0 && { formatters }),
    }),
  };
}
