import { isJsonObject } from "../../base/json-object.ts";
import type { AccessLogSettings } from "../../mesh-model/mesh-settings.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { AccessLog, AccessLogFilter } from "../../protobuf/gen/envoy/config/accesslog/v3.ts";
import type { SubstitutionFormatString, TypedExtensionConfig } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { JsonObject } from "../../protobuf/wire/struct.ts";

/** Where the listeners of one direction write their lines. */
export interface AccessLogs {
  /** Of HTTP managers and TCP proxies. */
  readonly traffic: readonly AccessLog[];
  /** Of a listener itself: connections for which no filter chain was found, which no other log has. */
  readonly listener: readonly AccessLog[];
}

export const NO_ACCESS_LOGS: AccessLogs = { traffic: [], listener: [] };

/** What the mesh's settings ask for. */
export function buildAccessLogs(settings: AccessLogSettings): AccessLogs {
  return settings.file === "" ? NO_ACCESS_LOGS : toAccessLogs([fileLog(settings.file, meshFormat(settings))]);
}

/** The same logs for traffic and for the listener itself. */
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

export function fileLog(path: string, logFormat: SubstitutionFormatString): AccessLog {
  return {
    name: "envoy.access_loggers.file",
    typedConfig: pack("envoy.extensions.access_loggers.file.v3.FileAccessLog", { path, logFormat }),
  };
}

/** Lines as the mesh's settings want them. */
export function meshFormat({ encoding, format }: AccessLogSettings): SubstitutionFormatString {
  return encoding === "JSON" ? jsonFormat(parseFormat(format) ?? DEFAULT_JSON_FORMAT) : textFormat(format);
}

/** Empty: the default line. */
export function textFormat(text: string): SubstitutionFormatString {
  const format = text === "" ? DEFAULT_TEXT_FORMAT : text;
  const inlineString = format.endsWith("\n") ? format : `${format}\n`;
  return { textFormatSource: { inlineString }, ...withFormatters([inlineString]) };
}

export function jsonFormat(format: JsonObject): SubstitutionFormatString {
  return { jsonFormat: format, jsonFormatOptions: {}, ...withFormatters(Object.values(format)) };
}

function withFormatters(texts: readonly unknown[]): Pick<SubstitutionFormatString, "formatters"> {
  const formatters = formattersFor(texts);
  return formatters.length > 0 ? { formatters } : {};
}

/** A format that is not a JSON object gives the default lines: a log in another shape is better than none. */
function parseFormat(format: string): JsonObject | undefined {
  try {
    const parsed: unknown = JSON.parse(format);
    return isJsonObject(parsed) ? (parsed as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** Extensions that the commands of a format need. */
export function formattersFor(texts: readonly unknown[]): readonly TypedExtensionConfig[] {
  const cutsQuery = texts.some((text) => typeof text === "string" && text.includes("%REQ_WITHOUT_QUERY"));
  return cutsQuery ? [WITHOUT_QUERY] : [];
}

const WITHOUT_QUERY: TypedExtensionConfig = {
  name: "envoy.formatter.req_without_query",
  typedConfig: pack("envoy.extensions.formatter.req_without_query.v3.ReqWithoutQuery", {}),
};

/** Fields of one line in the order of the text form; the JSON form has the same under these keys. */
const FIELDS = {
  start_time: "%START_TIME%",
  method: "%REQ(:METHOD)%",
  path: "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
  protocol: "%PROTOCOL%",
  response_code: "%RESPONSE_CODE%",
  response_flags: "%RESPONSE_FLAGS%",
  response_code_details: "%RESPONSE_CODE_DETAILS%",
  connection_termination_details: "%CONNECTION_TERMINATION_DETAILS%",
  upstream_transport_failure_reason: "%UPSTREAM_TRANSPORT_FAILURE_REASON%",
  bytes_received: "%BYTES_RECEIVED%",
  bytes_sent: "%BYTES_SENT%",
  duration: "%DURATION%",
  upstream_service_time: "%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%",
  x_forwarded_for: "%REQ(X-FORWARDED-FOR)%",
  user_agent: "%REQ(USER-AGENT)%",
  request_id: "%REQ(X-REQUEST-ID)%",
  authority: "%REQ(:AUTHORITY)%",
  upstream_host: "%UPSTREAM_HOST%",
  upstream_cluster: "%UPSTREAM_CLUSTER_RAW%",
  upstream_local_address: "%UPSTREAM_LOCAL_ADDRESS%",
  downstream_local_address: "%DOWNSTREAM_LOCAL_ADDRESS%",
  downstream_remote_address: "%DOWNSTREAM_REMOTE_ADDRESS%",
  requested_server_name: "%REQUESTED_SERVER_NAME%",
  route_name: "%ROUTE_NAME%",
} as const;

export const DEFAULT_JSON_FORMAT: Readonly<Record<string, string>> = FIELDS;

/** Tools that read these logs know this exact line. */
export const DEFAULT_TEXT_FORMAT = [
  `[${FIELDS.start_time}]`,
  `"${FIELDS.method} ${FIELDS.path} ${FIELDS.protocol}"`,
  FIELDS.response_code,
  FIELDS.response_flags,
  FIELDS.response_code_details,
  FIELDS.connection_termination_details,
  `"${FIELDS.upstream_transport_failure_reason}"`,
  FIELDS.bytes_received,
  FIELDS.bytes_sent,
  FIELDS.duration,
  FIELDS.upstream_service_time,
  `"${FIELDS.x_forwarded_for}"`,
  `"${FIELDS.user_agent}"`,
  `"${FIELDS.request_id}"`,
  `"${FIELDS.authority}"`,
  `"${FIELDS.upstream_host}"`,
  FIELDS.upstream_cluster,
  FIELDS.upstream_local_address,
  FIELDS.downstream_local_address,
  FIELDS.downstream_remote_address,
  FIELDS.requested_server_name,
  `${FIELDS.route_name}\n`,
].join(" ");
