import { parseDuration } from "../../base/duration.ts";
import { isJsonObject } from "../../base/json-object.ts";
import { proxyConfigTable } from "../../istio-api/proxy-config/apply-proxy-config.ts";
import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";
import type { FieldEntry, MessageTable } from "../../protobuf/message-tables.ts";
import { GoEnum, GoStruct } from "../../template/index.ts";

/** A ProxyConfig as templates know it: `.config.ProxyAdminPort`. Unset fields have Go's zero values. */
export function goProxyConfig(config: ProxyConfig): GoStruct {
  return goMessage(proxyConfigTable(), config as Readonly<Record<string, unknown>>);
}

/** The Go name of a proto JSON name. */
function goName(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

/** `istio.mesh.v1alpha1.Tracing.Zipkin` is `v1alpha1.Tracing_Zipkin`. */
function goType(fullName: string): string {
  const [, version = "", ...names] = fullName.split(".").slice(1);
  return `${version}.${names.join("_")}`;
}

function goMessage(table: MessageTable, values: Readonly<Record<string, unknown>>): GoStruct {
  const fields = new Map<string, unknown>();
  for (const field of table.byName.values()) {
    const value = goField(field, values[field.name]);
    fields.set(goName(field.name), value);
    fields.set(`Get${goName(field.name)}`, value);
  }
  return new GoStruct(`*${goType(table.name)}`, fields, values, printFields(values));
}

function goField({ shape, type }: FieldEntry, value: unknown): unknown {
  if (shape === "list") return value ?? [];
  if (shape === "map") return value ?? {};
  switch (type.kind) {
    case "scalar":
      if (type.code === "b") return value ?? false;
      return value ?? (type.code === "s" ? "" : 0);
    case "enum": {
      const label = typeof value === "string" ? value : (type.table.names.get(0) ?? "");
      return new GoEnum(goType(type.table.name), label, type.table.numbers.get(label) ?? 0);
    }
    case "duration":
      return typeof value === "string" ? goDuration(value) : null;
    case "message":
      return isJsonObject(value) ? goMessage(type.table, value) : null;
    default:
      return value === undefined ? null : wrapper(value);
  }
}

function wrapper(value: unknown): GoStruct {
  const fields = new Map([
    ["Value", value],
    ["GetValue", value],
  ]);
  return new GoStruct("*wrapperspb.Value", fields, value, `value:${String(value)}`);
}

function goDuration(text: string): GoStruct {
  const nanoseconds = parseDuration(text);
  const [seconds, rest] = [Number(nanoseconds / 1_000_000_000n), Number(nanoseconds % 1_000_000_000n)];
  const printed = [seconds !== 0 && `seconds:${seconds}`, rest !== 0 && `nanos:${rest}`].filter(Boolean).join(" ");
  const fields = new Map([
    ["Seconds", seconds],
    ["Nanos", rest],
    ["GetSeconds", seconds],
    ["GetNanos", rest],
  ]);
  return new GoStruct("*durationpb.Duration", fields, text, printed);
}

/** Close to protobuf's text form, whose exact spacing Go leaves open on purpose. */
function printFields(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}:${JSON.stringify(value)}`)
    .join(" ");
}
