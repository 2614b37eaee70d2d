import { pack } from "../../../protocol/envoy/index.ts";
import type { AccessLog } from "../../../protocol/gen/envoy/config/accesslog/v3.ts";
import type { SubstitutionFormatString } from "../../../protocol/gen/envoy/config/core/v3.ts";
import type { JsonObject } from "../../../protocol/protobuf/struct.ts";
import type { AccessLogSettings } from "../../snapshot/mesh-settings.ts";
import { DEFAULT_JSON_FORMAT, DEFAULT_TEXT_FORMAT } from "./default-formats.ts";

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
  if (settings.file === "") return NO_ACCESS_LOGS;
  const log: AccessLog = {
    name: "envoy.access_loggers.file",
    typedConfig: pack("envoy.extensions.access_loggers.file.v3.FileAccessLog", {
      path: settings.file,
      logFormat: logFormat(settings),
    }),
  };
  return { traffic: [log], listener: [{ ...log, filter: { responseFlagFilter: { flags: ["NR"] } } }] };
}

function logFormat({ encoding, format }: AccessLogSettings): SubstitutionFormatString {
  if (encoding === "JSON") return { jsonFormat: parseFormat(format) ?? DEFAULT_JSON_FORMAT, jsonFormatOptions: {} };
  const text = format === "" ? DEFAULT_TEXT_FORMAT : format;
  return { textFormatSource: { inlineString: text.endsWith("\n") ? text : `${text}\n` } };
}

/** A format that is no JSON object gives the default lines: a log in another shape is better than none. */
function parseFormat(format: string): JsonObject | undefined {
  try {
    const parsed: unknown = JSON.parse(format);
    const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
