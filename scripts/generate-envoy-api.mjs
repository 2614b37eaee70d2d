// Writes src/protobuf/gen from Envoy's .proto files: TypeScript types of messages in proto3 JSON form, and the tables by which the codec
// of src/protobuf/envoy encodes them. `--out DIR` writes elsewhere and leaves the descriptors beside, so that a test can see whether the
// committed files are stale and whether the codec does as a general protobuf runtime does.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const elsewhere = process.argv[2] === "--out" ? resolve(process.argv[3]) : undefined;
const out = elsewhere ?? join(root, "src/protobuf/gen");
const FILES = JSON.parse(readFileSync(join(root, "proto/envoy-api.json"), "utf8"));
// Folders of messages that only users' patches name: they get tables, and no types.
const EXTENSIONS = JSON.parse(readFileSync(join(root, "proto/envoy-extensions.json"), "utf8"));

const SCALARS = {
  TYPE_DOUBLE: ["d", "number"],
  TYPE_FLOAT: ["f", "number"],
  TYPE_INT32: ["i", "number"],
  TYPE_INT64: ["I", "number | string"],
  TYPE_UINT32: ["u", "number"],
  TYPE_UINT64: ["U", "number | string"],
  TYPE_BOOL: ["b", "boolean"],
  TYPE_STRING: ["s", "string"],
  TYPE_BYTES: ["y", "string"],
};
// Messages whose JSON form is not an object of their members.
const WELL_KNOWN = {
  "google.protobuf.Any": ["A", "AnyMessage"],
  "google.protobuf.Duration": ["D", "string"],
  "google.protobuf.Timestamp": ["T", "string"],
  "google.protobuf.Struct": ["S", "JsonObject"],
  "google.protobuf.Value": ["V", "JsonValue"],
  "google.protobuf.ListValue": ["L", "readonly JsonValue[]"],
  "google.protobuf.DoubleValue": ["wd", "number"],
  "google.protobuf.FloatValue": ["wf", "number"],
  "google.protobuf.Int32Value": ["wi", "number"],
  "google.protobuf.Int64Value": ["wI", "number | string"],
  "google.protobuf.UInt32Value": ["wu", "number"],
  "google.protobuf.UInt64Value": ["wU", "number | string"],
  "google.protobuf.BoolValue": ["wb", "boolean"],
  "google.protobuf.StringValue": ["ws", "string"],
  "google.protobuf.BytesValue": ["wy", "string"],
};

// The one part of OpenTelemetry's own files that Envoy's refer to.
const OTLP_COMMON = `
syntax = "proto3";
package opentelemetry.proto.common.v1;
message AnyValue {
  oneof value {
    string string_value = 1;
    bool bool_value = 2;
    int64 int_value = 3;
    double double_value = 4;
    ArrayValue array_value = 5;
    KeyValueList kvlist_value = 6;
    bytes bytes_value = 7;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
`;
const image = buildImage();
const { messages, enums } = indexTypes(image);
const needed = reachable((file) => FILES.includes(file));
const extra = reachable((file) => EXTENSIONS.some((path) => file.startsWith(path))).filter(
  (name) => !needed.includes(name),
);
rmSync(out, { recursive: true, force: true });
writeTypes();
write("tables.ts", tablesText(needed));
write("extension-tables.ts", tablesText(extra));
writeMessageTypes();

/** The files are older than Envoy, and their validation schema is older than its uses: what is missing is added in a copy. */
function buildImage() {
  const copy = mkdtempSync(join(tmpdir(), "envoy-api-"));
  try {
    const modules = ["envoy-api", "googleapis", "protoc-gen-validate", "xds"].map((path) => ({ path }));
    cpSync(join(root, "node_modules/@grpc/grpc-js-xds/deps"), copy, { recursive: true });
    const rules = join(copy, "protoc-gen-validate/validate/validate.proto");
    const text = readFileSync(rules, "utf8").replace(/message StringRules \{/, "$& optional bool ignore_empty = 26;");
    writeFileSync(rules, text);
    const limits = join(copy, "envoy-api/envoy/config/cluster/v3/circuit_breaker.proto");
    const interval = "google.protobuf.Duration budget_interval = 3;";
    writeFileSync(
      limits,
      readFileSync(limits, "utf8")
        .replace('import "google/protobuf/wrappers.proto";', 'import "google/protobuf/duration.proto";\n$&')
        .replace("min_retry_concurrency = 2;", `$& ${interval}`),
    );
    write(join(copy, "xds/opentelemetry/proto/common/v1/common.proto"), OTLP_COMMON);
    const args = ["build", copy, "--config", JSON.stringify({ version: "v2", modules }), "--exclude-source-info"];
    for (const file of [...FILES, ...EXTENSIONS]) args.push("--path", join(copy, moduleOfFile(file), file));
    if (elsewhere !== undefined) buf([...args, "--as-file-descriptor-set", "-o", `${elsewhere}.binpb`]);
    return JSON.parse(buf([...args, "-o", "-#format=json"]));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Everything is Envoy's but what it shares with others. */
function moduleOfFile(file) {
  return file.startsWith("envoy/") ? "envoy-api" : "xds";
}

function buf(args) {
  const run = spawnSync(join(root, "node_modules/.bin/buf"), args, { maxBuffer: 256 << 20, encoding: "utf8" });
  if (run.status !== 0) throw new Error(`buf ${args[0]} failed: ${run.stderr || run.error}`);
  return run.stdout;
}

/** All messages and enums by full name; `local` is the name inside the package, with `_` between levels. */
function indexTypes({ file: files }) {
  const messages = new Map();
  const enums = new Map();
  for (const file of files) {
    const add = (target, type, path) => {
      const name = `${file.package}.${path.join(".")}`;
      target.set(name, {
        name,
        package: file.package,
        file: file.name,
        local: path.join("_"),
        type,
        syntax: file.syntax,
      });
    };
    const walk = (message, path) => {
      add(messages, message, path);
      for (const nested of message.nestedType ?? []) walk(nested, [...path, nested.name]);
      for (const nested of message.enumType ?? []) add(enums, nested, [...path, nested.name]);
    };
    for (const message of file.messageType ?? []) walk(message, [message.name]);
    for (const type of file.enumType ?? []) add(enums, type, [type.name]);
  }
  return { messages, enums };
}

function reachable(isWanted) {
  const seen = new Set();
  const visit = (name) => {
    if (seen.has(name) || WELL_KNOWN[name]) return;
    seen.add(name);
    for (const field of messages.get(name)?.type.field ?? []) if (field.typeName) visit(field.typeName.slice(1));
  };
  for (const message of messages.values()) if (isWanted(message.file)) visit(message.name);
  return [...seen].sort();
}

function describe(field) {
  const scalar = SCALARS[field.type];
  if (scalar) return { code: scalar[0], ts: () => scalar[1] };
  const name = field.typeName?.slice(1);
  const known = WELL_KNOWN[name];
  if (known) return { code: known[0], ts: () => known[1], known: known[1] };
  if (field.type === "TYPE_ENUM") return { code: `e${name}`, ts: (from) => typeReference(enums.get(name), from) };
  if (field.type === "TYPE_MESSAGE") return { code: `m${name}`, ts: (from) => typeReference(messages.get(name), from) };
  throw new Error(`field ${field.name} has the type ${field.type}, which nothing here can encode`);
}

function mapEntry(field) {
  const entry = field.label === "LABEL_REPEATED" && messages.get(field.typeName?.slice(1))?.type;
  return entry?.options?.mapEntry ? { key: describe(entry.field[0]), value: describe(entry.field[1]) } : undefined;
}

function moduleOf(packageName) {
  return `${packageName.replaceAll(".", "/")}.ts`;
}

function alias(packageName) {
  return packageName.replaceAll(".", "_");
}

function typeReference(type, from) {
  if (type.package === from.package) return type.local;
  from.imports.add(type.package);
  return `${alias(type.package)}.${type.local}`;
}

function writeTypes() {
  const byPackage = new Map();
  for (const name of needed) {
    const type = messages.get(name) ?? enums.get(name);
    if (type.type.options?.mapEntry) continue;
    if (!byPackage.has(type.package)) byPackage.set(type.package, []);
    byPackage.get(type.package).push(type);
  }
  for (const [packageName, types] of byPackage) {
    const from = { package: packageName, imports: new Set(), known: new Set() };
    const body = types.map((type) => (messages.has(type.name) ? interfaceText(type, from) : enumText(type))).join("\n");
    const path = moduleOf(packageName);
    const toRoot = relative(dirname(path), ".") || ".";
    const lines = [...from.imports].sort().map((other) => {
      const target = relative(dirname(path), moduleOf(other));
      return `import type * as ${alias(other)} from "${target.startsWith(".") ? target : `./${target}`}";`;
    });
    if (from.known.size > 0) {
      lines.unshift(`import type { ${[...from.known].sort().join(", ")} } from "${toRoot}/../envoy/json-types.ts";`);
    }
    write(path, `${lines.join("\n")}${lines.length > 0 ? "\n\n" : ""}${body}`);
  }
}

function interfaceText(message, from) {
  const members = (message.type.field ?? []).map((field) => {
    const entry = mapEntry(field);
    const { ts, known } = entry?.value ?? describe(field);
    for (const name of known?.match(/\b(AnyMessage|JsonObject|JsonValue)\b/g) ?? []) from.known.add(name);
    const one = ts(from);
    const type = entry
      ? `Readonly<Record<string, ${one}>>`
      : field.label === "LABEL_REPEATED"
        ? `readonly ${/[| ]/.test(one) ? `(${one})` : one}[]`
        : one;
    return `  readonly ${field.jsonName}?: ${type} | undefined;\n`;
  });
  return `export interface ${message.local} {${members.length > 0 ? `\n${members.join("")}` : ""}}\n`;
}

function enumText(type) {
  return `export type ${type.local} =${type.type.value.map((value) => `\n  | "${value.name}"`).join("")};\n`;
}

/**
 * `name number code` per field; `*` repeated, `?` zero is sent when it is set, `?N` the same for a member of the message's Nth oneof,
 * `%K` a map with keys of K.
 */
function tablesText(names) {
  const rows = [];
  const enumRows = [];
  for (const name of names) {
    const message = messages.get(name);
    if (message === undefined) {
      enumRows.push(
        `  "${name}": "${enums
          .get(name)
          .type.value.map((value) => `${value.name} ${value.number ?? 0}`)
          .join(",")}",\n`,
      );
      continue;
    }
    if (message.type.options?.mapEntry) continue;
    const fields = (message.type.field ?? []).map((field) => {
      const entry = mapEntry(field);
      const { code } = entry?.value ?? describe(field);
      const isExplicit = field.oneofIndex !== undefined || message.syntax !== "proto3";
      const group = field.oneofIndex === undefined || field.proto3Optional ? "" : field.oneofIndex + 1;
      const presence = isExplicit ? `?${group}` : "";
      const mark = entry ? `%${entry.key.code}` : field.label === "LABEL_REPEATED" ? "*" : presence;
      return `${field.jsonName} ${field.number} ${mark}${code}`;
    });
    rows.push(`  "${name}":\n    "${fields.join(",")}",\n`);
  }
  return `export const MESSAGES: Readonly<Record<string, string>> = {\n${rows.join("")}};\n\nexport const ENUMS: Readonly<Record<string, string>> = {\n${enumRows.join("")}};\n`;
}

function writeMessageTypes() {
  const named = needed.filter((name) => messages.has(name) && !messages.get(name).type.options?.mapEntry);
  const packages = [...new Set(named.map((name) => messages.get(name).package))].sort();
  const imports = packages.map((name) => `import type * as ${alias(name)} from "./${moduleOf(name)}";\n`).join("");
  const members = named.map(
    (name) => `  "${name}": ${alias(messages.get(name).package)}.${messages.get(name).local};\n`,
  );
  write(
    "message-types.ts",
    `${imports}\n/** Messages by their full names. */\nexport interface MessageTypes {\n${members.join("")}}\n`,
  );
}

function write(path, text) {
  const file = resolve(out, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `// Generated by scripts/generate-envoy-api.mjs. Do not edit.\n${text}`);
}
