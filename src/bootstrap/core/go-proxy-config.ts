import { parseDuration } from "../../base/duration.ts";
import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";
import { GoEnum, GoStruct } from "../../template/index.ts";
import { isJsonObject } from "./json.ts";

/** A field's Go type: plain, a pointer to a well-known type, a collection, an enum or another message of the table. */
type FieldType =
  | "text"
  | "number"
  | "bool"
  | "map"
  | "list"
  | "duration"
  | "wrapper"
  | `enum ${string}`
  | `message ${string}`;

const MESSAGES: Readonly<Record<string, Readonly<Record<string, FieldType>>>> = {
  ProxyConfig: {
    configPath: "text",
    binaryPath: "text",
    serviceCluster: "text",
    tracingServiceName: "enum TracingServiceName",
    drainDuration: "duration",
    parentShutdownDuration: "duration",
    discoveryAddress: "text",
    discoveryRefreshDelay: "duration",
    zipkinAddress: "text",
    statsdUdpAddress: "text",
    proxyAdminPort: "number",
    availabilityZone: "text",
    controlPlaneAuthPolicy: "enum AuthenticationPolicy",
    customConfigFile: "text",
    statNameLength: "number",
    concurrency: "wrapper",
    proxyBootstrapTemplatePath: "text",
    interceptionMode: "enum InterceptionMode",
    tracing: "message Tracing",
    envoyMetricsServiceAddress: "text",
    sds: "message SDS",
    envoyAccessLogService: "message RemoteService",
    envoyMetricsService: "message RemoteService",
    proxyMetadata: "map",
    statusPort: "number",
    extraStatTags: "list",
    gatewayTopology: "message Topology",
    terminationDrainDuration: "duration",
    meshId: "text",
    readinessProbe: "message ReadinessProbe",
    proxyStatsMatcher: "message ProxyStatsMatcher",
    holdApplicationUntilProxyStarts: "wrapper",
    caCertificatesPem: "list",
    image: "message ProxyImage",
    runtimeValues: "map",
    privateKeyProvider: "message PrivateKeyProvider",
    proxyHeaders: "message ProxyHeaders",
    fileFlushInterval: "duration",
    fileFlushMinSizeKb: "number",
    statsCompression: "wrapper",
    connectionSettings: "message ConnectionSettings",
  },
  Tracing: {
    zipkin: "message Address",
    lightstep: "message Lightstep",
    datadog: "message Address",
    stackdriver: "message Stackdriver",
    openCensusAgent: "message Address",
    customTags: "map",
    maxPathTagLength: "number",
    sampling: "number",
    tlsSettings: "message ClientTLSSettings",
    enableIstioTags: "wrapper",
  },
  Address: { address: "text", context: "list" },
  Lightstep: { address: "text", accessToken: "text" },
  Stackdriver: {
    debug: "bool",
    maxNumberOfAttributes: "wrapper",
    maxNumberOfAnnotations: "wrapper",
    maxNumberOfMessageEvents: "wrapper",
  },
  ClientTLSSettings: {
    mode: "enum TLSmode",
    clientCertificate: "text",
    privateKey: "text",
    caCertificates: "text",
    caCrl: "text",
    credentialName: "text",
    subjectAltNames: "list",
    sni: "text",
    insecureSkipVerify: "wrapper",
  },
  RemoteService: { address: "text", tlsSettings: "message ClientTLSSettings", tcpKeepalive: "message TcpKeepalive" },
  TcpKeepalive: { probes: "number", time: "duration", interval: "duration" },
  SDS: { enabled: "bool", k8sSaJwtPath: "text" },
  Topology: { numTrustedProxies: "number", forwardClientCertDetails: "enum ForwardClientCertDetails" },
  ProxyStatsMatcher: { inclusionPrefixes: "list", inclusionSuffixes: "list", inclusionRegexps: "list" },
  ProxyImage: { imageType: "text" },
};

/** Enum values in the order of their numbers. */
const ENUMS: Readonly<Record<string, readonly string[]>> = {
  TracingServiceName: ["APP_LABEL_AND_NAMESPACE", "CANONICAL_NAME_ONLY", "CANONICAL_NAME_AND_NAMESPACE"],
  AuthenticationPolicy: ["NONE", "MUTUAL_TLS"],
  InterceptionMode: ["REDIRECT", "TPROXY", "NONE"],
  TLSmode: ["DISABLE", "SIMPLE", "MUTUAL", "ISTIO_MUTUAL"],
  ForwardClientCertDetails: [
    "UNDEFINED",
    "SANITIZE",
    "FORWARD_ONLY",
    "APPEND_FORWARD",
    "SANITIZE_SET",
    "ALWAYS_FORWARD_ONLY",
  ],
};

/** A ProxyConfig as templates know it: `.config.ProxyAdminPort`. Unset fields have Go's zero values. */
export function goProxyConfig(config: ProxyConfig): GoStruct {
  return goMessage("ProxyConfig", config as Readonly<Record<string, unknown>>);
}

/** The Go name of a proto JSON name. */
function goName(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

function goMessage(message: string, values: Readonly<Record<string, unknown>>): GoStruct {
  const fields = new Map<string, unknown>();
  // A message without a table shows the fields that are set.
  const types =
    MESSAGES[message] ?? Object.fromEntries(Object.keys(values).map((name) => [name, guessType(values[name])]));
  for (const [name, type] of Object.entries(types)) {
    const value = goField(type, values[name]);
    fields.set(goName(name), value);
    fields.set(`Get${goName(name)}`, value);
  }
  return new GoStruct(`*v1alpha1.${message}`, fields, values, printFields(values));
}

function goField(type: FieldType, value: unknown): unknown {
  const [kind, name = ""] = type.split(" ");
  switch (kind) {
    case "text":
      return value ?? "";
    case "number":
      return value ?? 0;
    case "bool":
      return value ?? false;
    case "map":
      return value ?? {};
    case "list":
      return value ?? [];
    case "enum": {
      const names = ENUMS[name] ?? [];
      const label = typeof value === "string" ? value : (names[0] ?? "");
      return new GoEnum(`v1alpha1.${name}`, label, label === "INHERIT" ? 1000 : Math.max(0, names.indexOf(label)));
    }
    case "duration":
      return typeof value === "string" ? goDuration(value) : null;
    case "wrapper":
      return value === undefined ? null : wrapper(value);
    default:
      return isJsonObject(value) ? goMessage(name, value) : null;
  }
}

function guessType(value: unknown): FieldType {
  if (Array.isArray(value)) return "list";
  if (typeof value === "number") return "number";
  if (typeof value === "boolean") return "bool";
  return isJsonObject(value) ? "message Nested" : "text";
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
