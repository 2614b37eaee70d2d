import type { AccessLogSettings } from "../../mesh-model/mesh-settings.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { AccessLog } from "../../protobuf/gen/envoy/config/accesslog/v3.ts";
import type { SubstitutionFormatString } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { JsonObject } from "../../protobuf/wire/struct.ts";
import { DEFAULT_JSON_FORMAT, DEFAULT_TEXT_FORMAT } from "./default-formats.ts";
import { formattersFor } from "./formatters.ts";

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
