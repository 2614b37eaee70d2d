// Writes src/protobuf/gen from the .proto files of Envoy and Istio: TypeScript types of messages in JSON form, and the tables by which the
// codecs of src/protobuf work. proto/api.json says which messages. `--out DIR` writes elsewhere and leaves the descriptors beside, so that
// a test can see whether the committed files are stale and whether the codecs agree with a general protobuf runtime.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const elsewhere = process.argv[2] === "--out" ? resolve(process.argv[3]) : undefined;
const out = elsewhere ?? join(root, "src/protobuf/gen");
// Table modules by name: the messages of `files` (files or folders) and `messages`, with everything they refer to. A module leaves out what an
// earlier one of its family has. Messages that only users' patches name are `typed: false`: they get tables and no types.
const MODULES = Object.entries(JSON.parse(readFileSync(join(root, "proto/api.json"), "utf8")));

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
const ZIPKIN = "envoy-api/envoy/config/trace/v3/zipkin.proto";
const CUSTOM_TAG = "envoy-api/envoy/type/tracing/v3/custom_tag.proto";
const MANAGER = "envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto";
const TCP_PROXY = "envoy-api/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy.proto";
const WASM = "envoy-api/envoy/extensions/wasm/v3/wasm.proto";
// What is newer than the published files, or older than all of them: [file, text, what takes its place].
const PATCHES = [
  ["protoc-gen-validate/validate/validate.proto", "message StringRules {", "$& optional bool ignore_empty = 26;"],
  [
    "envoy-api/envoy/config/cluster/v3/circuit_breaker.proto",
    'import "google/protobuf/wrappers.proto";',
    'import "google/protobuf/duration.proto";\n$&',
  ],
  [
    "envoy-api/envoy/config/cluster/v3/circuit_breaker.proto",
    "min_retry_concurrency = 2;",
    "$& google.protobuf.Duration budget_interval = 3;",
  ],
  [
    WASM,
    'import "google/protobuf/any.proto";',
    '$&\nimport "google/protobuf/wrappers.proto";\nimport "envoy/config/core/v3/backoff.proto";',
  ],
  [
    WASM,
    "CapabilityRestrictionConfig capability_restriction_config = 6;",
    `$&
    FailurePolicy failure_policy = 7;
    ReloadConfig reload_config = 8;
    google.protobuf.BoolValue allow_on_headers_stop_iteration = 9;`,
  ],
  [
    WASM,
    "message PluginConfig {",
    `enum FailurePolicy { UNSPECIFIED = 0; FAIL_RELOAD = 1; FAIL_CLOSED = 2; FAIL_OPEN = 3; }
    message ReloadConfig { config.core.v3.BackoffStrategy backoff = 1; }
    $&`,
  ],
  [ZIPKIN, 'import "google/protobuf/wrappers.proto";', '$&\nimport "envoy/config/core/v3/http_service.proto";'],
  [
    ZIPKIN,
    "  enum CollectorEndpointVersion {",
    "  enum TraceContextOption { USE_B3 = 0; USE_B3_WITH_W3C_PROPAGATION = 1; }\n$&",
  ],
  [
    ZIPKIN,
    "string collector_hostname = 6;",
    "$& TraceContextOption trace_context_option = 8; core.v3.HttpService collector_service = 9;",
  ],
  [
    TCP_PROXY,
    "TcpAccessLogOptions access_log_options = 17;",
    "$& UpstreamConnectMode upstream_connect_mode = 21; google.protobuf.UInt32Value max_early_data_bytes = 22;",
  ],
  [
    TCP_PROXY,
    "message TcpProxy {",
    "enum UpstreamConnectMode { IMMEDIATE = 0; ON_DOWNSTREAM_DATA = 1; ON_DOWNSTREAM_TLS_HANDSHAKE = 2; }\n$&",
  ],
  [CUSTOM_TAG, "Metadata metadata = 5;", "$& string value = 6;"],
  [
    MANAGER,
    "google.protobuf.BoolValue spawn_upstream_span = 10;",
    "$& string operation = 11; string upstream_operation = 12; bool no_context_propagation = 13;",
  ],
  // Generations up to 1.7 read it.
  [
    "istio/mesh/v1alpha1/proxy.proto",
    'reserved "parent_shutdown_duration";\n  reserved 5;',
    "google.protobuf.Duration parent_shutdown_duration = 5;",
  ],
  // Its number is not published yet; this one is never sent.
  [
    "istio/mesh/v1alpha1/config.proto",
    "istio.networking.v1alpha3.HTTPRetry default_http_retry_policy = 62;",
    "$& istio.networking.v1alpha3.HTTPRetry default_inbound_http_retry_policy = 536870911;",
  ],
];
const image = buildImage();
const { messages, enums } = indexTypes(image);
const seen = { istio: new Set(), envoy: new Set() };
const typed = [];
rmSync(out, { recursive: true, force: true });
for (const [name, module] of MODULES) {
  const earlier = seen[module.family];
  const names = reachable(module).filter((type) => !earlier.has(type));
  for (const type of names) earlier.add(type);
  if (module.typed !== false) typed.push(...names);
  write(`tables/${name}.ts`, tablesText(names));
}
const needed = [...new Set(typed)].sort();
writeTypes();
writeMessageTypes("envoy-types.ts", (name) => !name.startsWith("istio."));
writeMessageTypes("istio-types.ts", (name) => name.startsWith("istio."));

function buildImage() {
  const copy = mkdtempSync(join(tmpdir(), "protobuf-"));
  try {
    const modules = ["envoy-api", "googleapis", "istio", "protoc-gen-validate", "xds"].map((path) => ({ path }));
    cpSync(join(root, "node_modules/@grpc/grpc-js-xds/deps"), copy, { recursive: true });
    cpSync(join(root, "proto/istio"), join(copy, "istio"), { recursive: true });
    cpSync(join(root, "proto/envoy"), join(copy, "envoy-api/envoy"), { recursive: true });
    for (const [file, text, replacement] of PATCHES) patch(join(copy, file), text, replacement);
    write(join(copy, "xds/opentelemetry/proto/common/v1/common.proto"), OTLP_COMMON);
    const args = ["build", copy, "--config", JSON.stringify({ version: "v2", modules }), "--exclude-source-info"];
    for (const [, { files = [] }] of MODULES)
      for (const file of files) args.push("--path", join(copy, folderOf(file), file));
    for (const folder of readdirSync(join(copy, "istio"))) args.push("--path", join(copy, "istio", folder));
    if (elsewhere !== undefined) buf([...args, "--as-file-descriptor-set", "-o", `${elsewhere}.binpb`]);
    return JSON.parse(buf([...args, "-o", "-#format=json"]));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function patch(file, text, replacement) {
  const before = readFileSync(file, "utf8");
  if (!before.includes(text)) throw new Error(`${file} has no ${text}`);
  writeFileSync(file, before.replace(text, replacement));
}

/** Everything is Envoy's but what it shares with others. */
function folderOf(file) {
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

function reachable({ files = [], messages: roots = [] }) {
  const found = new Set();
  const visit = (name) => {
    if (found.has(name) || WELL_KNOWN[name]) return;
    found.add(name);
    for (const field of messages.get(name)?.type.field ?? []) if (field.typeName) visit(field.typeName.slice(1));
  };
  for (const name of roots) visit(name);
  for (const { name, file } of messages.values()) if (files.some((path) => file.startsWith(path))) visit(name);
  return [...found].sort();
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
      lines.unshift(`import type { ${[...from.known].sort().join(", ")} } from "${toRoot}/../json-types.ts";`);
    }
    write(path, `${lines.join("\n")}${lines.length > 0 ? "\n\n" : ""}${body}`);
  }
}

/** Istio's messages are read with zero values filled in, so that only what has presence may be absent. */
function interfaceText(message, from) {
  const isFilled = message.package.startsWith("istio.");
  const members = (message.type.field ?? []).map((field) => {
    const entry = mapEntry(field);
    const { ts, known } = entry?.value ?? describe(field);
    for (const name of known?.match(/\b(AnyMessage|JsonObject|JsonValue)\b/g) ?? []) from.known.add(name);
    // 64-bit integers are numbers where zero is filled in; in a wrapper they are as exact as they were written.
    const wide = SCALARS[field.type] ? "number" : "string";
    const one = isFilled ? ts(from).replace("number | string", wide) : ts(from);
    const isRepeated = field.label === "LABEL_REPEATED";
    const isPlain = isRepeated || field.type === "TYPE_ENUM" || SCALARS[field.type] !== undefined;
    const type = entry
      ? `Readonly<Record<string, ${one}>>`
      : isRepeated
        ? `readonly ${/[| ]/.test(one) ? `(${one})` : one}[]`
        : one;
    if (!isFilled) return `  readonly ${field.jsonName}?: ${type} | undefined;\n`;
    return `  readonly ${field.jsonName}${isPlain && field.oneofIndex === undefined ? "" : "?"}: ${type};\n`;
  });
  return `export interface ${message.local} {${members.length > 0 ? `\n${members.join("")}` : ""}}\n`;
}

function enumText(type) {
  return `export type ${type.local} =${type.type.value.map((value) => `\n  | "${value.name}"`).join("")};\n`;
}

/**
 * `name number code` per field; `name=proto_name` where the one does not follow from the other. `*` repeated, `?` zero is sent when it is
 * set, `?N` the same for a member of the message's Nth oneof, `%K` a map with keys of K.
 */
function tablesText(names) {
  const rows = [];
  const enumRows = [];
  for (const name of names) {
    const message = messages.get(name);
    if (message === undefined) enumRows.push(`    "${name}": "${enumRow(enums.get(name).type)}",\n`);
    else if (!message.type.options?.mapEntry) rows.push(`    "${name}":\n      "${messageRow(message)}",\n`);
  }
  return `export const TABLES = {\n  messages: {\n${rows.join("")}  },\n  enums: {\n${enumRows.join("")}  },\n} as const;\n`;
}

function enumRow(type) {
  return type.value.map((value) => `${value.name} ${value.number ?? 0}`).join(",");
}

function messageRow(message) {
  const fields = (message.type.field ?? []).map((field) => {
    const entry = mapEntry(field);
    const { code } = entry?.value ?? describe(field);
    const isExplicit = field.oneofIndex !== undefined || message.syntax !== "proto3";
    const group = field.oneofIndex === undefined || field.proto3Optional ? "" : field.oneofIndex + 1;
    const presence = isExplicit ? `?${group}` : "";
    const mark = entry ? `%${entry.key.code}` : field.label === "LABEL_REPEATED" ? "*" : presence;
    const derived = field.jsonName.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const spelling = derived === field.name ? "" : `=${field.name}`;
    return `${field.jsonName}${spelling} ${field.number} ${mark}${code}`;
  });
  return fields.join(",");
}

/** Messages of a family by their full names. */
function writeMessageTypes(path, belongs) {
  const named = needed.filter(
    (name) => messages.has(name) && !messages.get(name).type.options?.mapEntry && belongs(name),
  );
  const packages = [...new Set(named.map((name) => messages.get(name).package))].sort();
  const imports = packages.map((name) => `import type * as ${alias(name)} from "./${moduleOf(name)}";\n`).join("");
  const members = named.map(
    (name) => `  "${name}": ${alias(messages.get(name).package)}.${messages.get(name).local};\n`,
  );
  write(
    path,
    `${imports}\n/** Messages by their full names. */\nexport interface MessageTypes {\n${members.join("")}}\n`,
  );
}

function write(path, text) {
  const file = resolve(out, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `// Generated by scripts/generate-protobuf.mjs. Do not edit.\n${text}`);
}
