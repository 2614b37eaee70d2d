import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import protobuf from "protobufjs";

const DEPS = join(import.meta.dirname, "../../../node_modules/@grpc/grpc-js-xds/deps");
const INCLUDES = [
  ...["envoy-api", "xds", "googleapis", "protoc-gen-validate"].map((folder) => join(DEPS, folder)),
  dirname(createRequire(import.meta.url).resolve("protobufjs/package.json")),
];

export interface EnvoyMessages {
  /** Envoy's proto JSON (field names with underscores, `@type` for messages in Any) as the message in an Any. */
  packAny(json: object): { readonly type_url: string; readonly value: Uint8Array };
  codec(typeName: string): { encode(message: object): Buffer; decode(bytes: Buffer): Record<string, unknown> };
}

/** Reads Envoy's own .proto files, a package at a time and only when a message of it is used. */
export function createEnvoyMessages(): EnvoyMessages {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => {
    if (protobuf.common.get(target) !== null) return target;
    const found = INCLUDES.map((folder) => join(folder, target)).find((path) => existsSync(path));
    return found ?? null;
  };
  const lookup = (typeName: string): protobuf.Type => {
    const known = root.lookup(typeName);
    if (known instanceof protobuf.Type) return known;
    const folder = typeName.split(".").slice(0, -1).join("/");
    const home = INCLUDES.find((include) => existsSync(join(include, folder)));
    if (home === undefined) throw new Error(`no .proto of ${typeName}`);
    const files = readdirSync(join(home, folder)).filter((file) => file.endsWith(".proto"));
    root.loadSync(
      files.map((file) => join(folder, file)),
      { keepCase: true },
    );
    root.resolveAll();
    return root.lookupType(typeName);
  };
  const packAny = (json: object) => {
    const { "@type": url, ...fields } = json as { "@type"?: string };
    if (url === undefined) throw new Error(`a message in Any needs "@type": ${JSON.stringify(json).slice(0, 200)}`);
    const type = lookup(url.slice(url.lastIndexOf("/") + 1));
    return { type_url: url, value: type.encode(type.fromObject(toFields(type, fields, packAny))).finish() };
  };
  return {
    packAny,
    codec: (typeName) => {
      const type = lookup(typeName);
      return {
        encode: (message) => Buffer.from(type.encode(type.fromObject(message)).finish()),
        decode: (bytes) => type.toObject(type.decode(bytes), { longs: String, bytes: Buffer, arrays: true }),
      };
    },
  };
}

type Pack = EnvoyMessages["packAny"];

function toFields(type: protobuf.Type, json: object, pack: Pack): Record<string, unknown> {
  const entries = Object.entries(json).map(([name, value]) => {
    const field = type.fields[name];
    if (field === undefined) throw new Error(`${type.name} has no field ${name}`);
    return [name, toFieldValue(field.resolve(), value, pack)] as const;
  });
  return Object.fromEntries(entries);
}

function toFieldValue(field: protobuf.Field, json: unknown, pack: Pack): unknown {
  const one = (value: unknown) => toValue(field.resolvedType, value, pack);
  if (field.map) return Object.fromEntries(Object.entries(json as object).map(([key, value]) => [key, one(value)]));
  return field.repeated ? (json as unknown[]).map(one) : one(json);
}

/** The JSON forms that differ from the plain message: Any, Duration, the wrappers and Struct. */
function toValue(type: protobuf.Type | protobuf.Enum | null, json: unknown, pack: Pack): unknown {
  if (!(type instanceof protobuf.Type)) return json;
  switch (type.fullName) {
    case ".google.protobuf.Any":
      return pack(json as object);
    case ".google.protobuf.Duration":
      return toDuration(String(json));
    case ".google.protobuf.Struct":
      return toStruct(json as object);
    case ".google.protobuf.Value":
      return toStructValue(json);
  }
  if (/^\.google\.protobuf\.\w+Value$/.test(type.fullName)) return { value: json };
  return toFields(type, json as object, pack);
}

function toDuration(text: string): { seconds: number; nanos: number } {
  const seconds = Number(text.replace(/s$/, ""));
  if (!text.endsWith("s") || Number.isNaN(seconds)) throw new Error(`${text} is no duration`);
  return { seconds: Math.trunc(seconds), nanos: Math.round((seconds % 1) * 1e9) };
}

function toStruct(json: object): object {
  return { fields: Object.fromEntries(Object.entries(json).map(([key, value]) => [key, toStructValue(value)])) };
}

function toStructValue(json: unknown): object {
  if (json === null) return { nullValue: 0 };
  if (Array.isArray(json)) return { listValue: { values: json.map(toStructValue) } };
  switch (typeof json) {
    case "string":
      return { stringValue: json };
    case "number":
      return { numberValue: json };
    case "boolean":
      return { boolValue: json };
    default:
      return { structValue: toStruct(json as object) };
  }
}
