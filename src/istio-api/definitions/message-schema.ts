import type { FieldEntry, FieldType, MessageTable, ScalarCode } from "../../protobuf/message-tables.ts";
import { DESCRIPTIONS } from "./descriptions.ts";

/** A structural schema of OpenAPI v3, as definitions of custom resources have them. */
export interface Schema {
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly [member: string]: unknown;
}

/**
 * Fields without which an object has no meaning. Other rules are the validation webhook's: its messages say more, and rules may need other
 * fields or objects.
 */
export const REQUIRED_FIELDS: Readonly<Record<string, readonly string[]>> = {
  ClaimToHeader: ["header", "claim"],
  Condition: ["key"],
  Destination: ["host"],
  DestinationRule: ["host"],
  ExecHealthCheckConfig: ["command"],
  HTTPDirectResponse: ["status"],
  HTTPHealthCheckConfig: ["port"],
  HTTPMirrorPolicy: ["destination"],
  HTTPRouteDestination: ["destination"],
  IstioEgressListener: ["hosts"],
  IstioIngressListener: ["port"],
  JWTHeader: ["name"],
  "LoadBalancerSettings.ConsistentHashLB.HTTPCookie": ["name"],
  "LoadBalancerSettings.ConsistentHashLB.HTTPCookie.Attribute": ["name"],
  LuaConfig: ["inlineCode"],
  PolicyTargetReference: ["kind", "name"],
  Port: ["number", "protocol", "name"],
  ProviderRef: ["name"],
  RouteDestination: ["destination"],
  Server: ["port", "hosts"],
  ServiceEntry: ["hosts"],
  ServicePort: ["number", "name"],
  Subset: ["name"],
  TCPHealthCheckConfig: ["port"],
  TLSMatchAttributes: ["sniHosts"],
  TLSRoute: ["match"],
  "Tracing.Environment": ["name"],
  "Tracing.Formatter": ["value"],
  "Tracing.Literal": ["value"],
  "Tracing.RequestHeader": ["name"],
  "TrafficPolicy.TunnelSettings": ["targetHost", "targetPort"],
  WarmupConfiguration: ["duration"],
  WasmConfig: ["url"],
  WasmPlugin: ["url"],
  WorkloadGroup: ["template"],
};

/** Lists whose elements are merged by a key when several owners apply an object. */
const LIST_KEYS: Readonly<Record<string, string>> = { "ServiceEntry.ports": "name" };

/** Limits of single fields that the type of the message does not have. */
const LIMITS: Readonly<Record<string, Schema>> = {
  "JWTRule.spaceDelimitedClaims": { maxItems: 64, items: { type: "string", minLength: 1 } },
  "ProxyConfig.concurrency": { minimum: 0 },
};

/** Names that the API server takes beside the JSON name. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  "HTTPRoute.mirrorPercent": ["mirror_percent"],
  "JWTRule.jwksUri": ["jwks_uri"],
};

/** The schema of a message in JSON form. */
export function messageSchema(table: MessageTable): Schema {
  const name = shortName(table);
  const texts = descriptionsOf(name);
  const properties: Record<string, Schema> = {};
  for (const field of table.byName.values()) {
    for (const spelling of [field.name, ...(ALIASES[`${name}.${field.name}`] ?? [])]) {
      const limits = LIMITS[`${name}.${field.name}`];
      properties[spelling] = { ...fieldSchema(name, field, texts.get(spelling)), ...limits };
    }
  }
  return { type: "object", properties, ...required(name), ...exclusions(table) };
}

/** A message's name without its package. */
export function shortName({ name }: MessageTable): string {
  return name.split(".").slice(3).join(".");
}

export function descriptionsOf(message: string): ReadonlyMap<string, string> {
  const lines = (DESCRIPTIONS[message] ?? "").split("\n").filter((line) => line.trim() !== "");
  return new Map(
    lines.map((line) => {
      const end = line.indexOf(":");
      return [line.slice(0, end).trim(), line.slice(end + 1).trim()];
    }),
  );
}

function fieldSchema(message: string, field: FieldEntry, description: string | undefined): Schema {
  const text = description === undefined ? {} : { description };
  const value = valueSchema(field.type);
  if (field.shape === "map") return { type: "object", ...text, additionalProperties: value };
  if (field.shape === "one") return { ...value, ...text };
  const key = LIST_KEYS[`${message}.${field.name}`];
  const merge = key === undefined ? {} : { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key] };
  return { type: "array", ...text, items: value, ...merge };
}

function valueSchema(type: FieldType): Schema {
  switch (type.kind) {
    case "scalar":
      return SCALARS[type.code];
    case "wrapper":
      return { ...SCALARS[type.code], nullable: true };
    case "enum":
      return { type: "string", enum: [...type.table.numbers.keys()] };
    case "message":
      return messageSchema(type.table);
    case "duration":
    case "timestamp":
      return { type: "string" };
    case "list":
      return { type: "array", items: ANYTHING };
    case "value":
      return ANYTHING;
    case "struct":
    case "any":
      return { type: "object", ...ANYTHING };
  }
}

const ANYTHING: Schema = { "x-kubernetes-preserve-unknown-fields": true };

const SCALARS: Readonly<Record<ScalarCode, Schema>> = {
  b: { type: "boolean" },
  d: { type: "number", format: "double" },
  f: { type: "number", format: "float" },
  i: { type: "integer", format: "int32" },
  I: { type: "integer", format: "int64" },
  s: { type: "string" },
  u: { type: "integer", minimum: 0, maximum: 4294967295 },
  U: { type: "integer", minimum: 0 },
  y: { type: "string", format: "byte" },
};

function required(message: string): Schema {
  const names = REQUIRED_FIELDS[message] ?? [];
  return names.length === 0 ? {} : { required: names };
}

/** Of a oneof's members one is set, or none. */
function exclusions({ oneofs }: MessageTable): Schema {
  const rules = oneofs
    .filter((members) => members.length > 1)
    .map((members) => {
      const present = members.map((member) => ({ required: [member] }));
      return { oneOf: [{ not: { anyOf: present } }, ...present] };
    });
  const [only] = rules;
  return rules.length > 1 ? { allOf: rules } : { ...only };
}
