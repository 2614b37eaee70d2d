import { quoteGo } from "../../base/go-quote.ts";
import type { EnumTable, FieldEntry, FieldType, MessageTable } from "../message-tables.ts";
import { type NumberCode, type NumberFault, rangeOf } from "./read-number.ts";

/** What a reader accepts and how it words what it refuses. */
export interface JsonDialect {
  /** Members without presence get their zero value, and 64-bit integers are numbers. Otherwise only what a document sets is there. */
  readonly fills: boolean;
  /** Of several members of a oneof the last one counts, or they are a problem. */
  readonly oneofs: "last" | "refuse";
  /** Null in a list, or as the value of a map's key, is the zero value. */
  readonly nullElements: boolean;
  readonly nullEntries: boolean;
  /** Numbers of an enum that have no name stay as they are. */
  readonly hasOpenEnums: boolean;
  /** Durations are seconds ("1.5s") instead of Go's ("1m30s"), a member is spelled in one way only, a Struct is an object. */
  readonly isStrict: boolean;
  /** Quoted numbers are read as Go's older JSON reader does. */
  readonly isGo: boolean;
  /** An object without "@type" is an Any without content, as long as it is empty. */
  readonly allowsEmptyAny?: boolean;
  /** Members that are treated as if the message did not have them. */
  readonly isIgnored?: (table: MessageTable, field: FieldEntry) => boolean;
  readonly words: (fault: Fault, value: unknown) => string;
}

export type Fault =
  | { readonly code: "object"; readonly name?: string }
  | { readonly code: "list" | "text" | "bool" | "timestamp" | "base64" | "key" | "type" | "twice" }
  | { readonly code: "duration"; readonly reason?: string }
  | { readonly code: "number"; readonly type: NumberCode; readonly asNumbers: boolean; readonly fault: NumberFault }
  | { readonly code: "enum"; readonly table: EnumTable; readonly fault?: NumberFault }
  | { readonly code: "null"; readonly type: FieldType }
  | { readonly code: "oneof"; readonly group: readonly string[]; readonly set: readonly string[] }
  | { readonly code: "unknown"; readonly name: string; readonly key: string }
  | { readonly code: "unresolved" | "missing"; readonly name: string };

/** MeshConfig and ProxyConfig, as the reference reads them and words it. */
export const GO_JSON: JsonDialect = {
  fills: false,
  oneofs: "last",
  nullElements: true,
  nullEntries: true,
  hasOpenEnums: true,
  isStrict: false,
  isGo: true,
  words: goWords,
};

/** Rule objects: values are complete, and what contradicts itself is refused. A key without a value, as in `headers: {x-present: }`, is zero. */
export const RULE_JSON: JsonDialect = {
  ...GO_JSON,
  fills: true,
  oneofs: "refuse",
  nullElements: false,
  hasOpenEnums: false,
  isGo: false,
  words: plainWords({ showsValues: true }),
};

/** Proto3 JSON as its specification has it. */
export const STRICT_JSON: JsonDialect = {
  ...RULE_JSON,
  fills: false,
  nullEntries: false,
  hasOpenEnums: true,
  isStrict: true,
};

const GO_NUMBERS: Readonly<Record<NumberCode, string>> = {
  i: "int32",
  u: "uint32",
  I: "int64",
  U: "uint64",
  d: "float64",
  f: "float32",
};
const NUMBER_TEXTS: Readonly<Record<NumberCode, string>> = {
  i: "a whole number of 32 bits",
  u: "a whole number of 32 bits, 0 or more",
  I: "a whole number of 64 bits",
  U: "a whole number of 64 bits, 0 or more",
  d: "a number",
  f: "a number",
};

/** The texts of Go's older JSON reader for protobuf, which operators know. */
function goWords(fault: Fault, value: unknown): string {
  switch (fault.code) {
    case "list":
      return cannotUnmarshal(value, "[]json.RawMessage");
    case "text":
      return cannotUnmarshal(value, "string");
    case "bool":
      return cannotUnmarshal(value, "bool");
    case "duration":
      return fault.reason === undefined ? cannotUnmarshal(value, "string") : `bad Duration: ${fault.reason}`;
    case "number":
      return goNumberWords(fault.fault, GO_NUMBERS[fault.type]);
    case "enum":
      return fault.fault === undefined
        ? `unknown value ${quoteGo(JSON.stringify(value))} for enum ${fault.table.name}`
        : goNumberWords(fault.fault, "protoreflect.EnumNumber");
    case "object":
      return cannotUnmarshal(value, "map[string]json.RawMessage");
    case "unknown":
      return `unknown field ${quoteGo(fault.key)} in ${fault.name}`;
    default:
      return `bad value: ${fault.code}`;
  }
}

function goNumberWords(fault: NumberFault, type: string): string {
  if (fault.reason === "syntax") return fault.problem;
  if (fault.reason === "kind") return cannotUnmarshal(fault.value, type);
  return `json: cannot unmarshal number ${fault.found} into Go value of type ${type}`;
}

function cannotUnmarshal(value: unknown, type: string): string {
  return `json: cannot unmarshal ${goKind(value)} into Go value of type ${type}`;
}

/** The JSON kind as Go's reader names it. */
function goKind(json: unknown): string {
  if (Array.isArray(json)) return "array";
  if (typeof json === "boolean") return "bool";
  if (typeof json === "bigint") return "number";
  return json === null ? "null" : typeof json;
}

/** Values that may be secret are described by their kind. */
export function plainWords({ showsValues }: { readonly showsValues: boolean }): JsonDialect["words"] {
  const describe = showsValues ? describeValue : describeKind;
  return (fault, value) => {
    const found = () => `found ${describe(value)}`;
    switch (fault.code) {
      case "object":
        return `expected an object (${fault.name === undefined ? "a map" : labelOf(fault.name)}), ${found()}`;
      case "list":
        return `expected a list, ${found()}`;
      case "text":
        return `expected text, ${found()}${quoteHint(value)}`;
      case "bool":
        return `expected true or false, ${found()}`;
      case "duration":
        return `expected a duration like "1.5s"${fault.reason !== undefined && showsValues ? `: ${fault.reason}` : `, ${found()}`}`;
      case "timestamp":
        return `expected a time like "2026-01-02T03:04:05Z", ${found()}`;
      case "base64":
        return "bytes must be base64";
      case "number":
        return numberWords(fault, describe(value), showsValues);
      case "enum":
        return `unknown value ${showsValues ? JSON.stringify(value) : describe(value)}; allowed: ${[...fault.table.numbers.keys()].join(", ")}`;
      case "key":
        return `expected a number as key, found ${showsValues ? JSON.stringify(value) : describe(value)}`;
      case "null":
        return `${fault.type.kind === "message" ? labelOf(fault.type.table.name) : "element"} may not be null`;
      case "oneof":
        return `only one of ${fault.group.join(", ")} may be set, found ${fault.set.join(" and ")}`;
      case "twice":
        return "is set a second time, in its other spelling";
      case "unknown":
        return `unknown field ${JSON.stringify(fault.key)} in ${labelOf(fault.name)}`;
      case "type":
        return '"@type" is missing';
      case "unresolved":
        return `no message is known by the name ${fault.name}`;
      case "missing":
        return `no "value" in a ${fault.name}`;
    }
  };
}

function numberWords(
  { fault, type, asNumbers }: Extract<Fault, { code: "number" }>,
  described: string,
  showsValues: boolean,
): string {
  const number = showsValues && "found" in fault ? fault.found : described;
  if (fault.reason === "range") {
    const [least, most] = rangeOf(type, { asNumbers });
    return `expected a number from ${least} to ${most}, found ${number}`;
  }
  return fault.reason === "fraction"
    ? `expected a whole number, found ${number}`
    : `expected a number, found ${described}`;
}

/** YAML reads bare `1` and `true` as number and boolean, the usual reason for text that is none. */
function quoteHint(value: unknown): string {
  return typeof value === "number" || typeof value === "boolean" ? "; put it in quotes" : "";
}

/** Names what was found without repeating a large value. */
export function describeValue(value: unknown): string {
  if (typeof value === "object") return describeKind(value);
  const text = typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? String(value));
  return `${typeof value} ${text.length > 80 ? `${text.slice(0, 80)}...` : text}`;
}

function describeKind(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** What a user calls a message: `istio.networking.v1alpha3.HTTPRoute` is an "http route". */
function labelOf(name: string): string {
  return name
    .slice(name.lastIndexOf(".") + 1)
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .toLowerCase();
}

/** What may stand in the place of the value. */
export function allowedWords(fault: Fault): string {
  switch (fault.code) {
    case "object":
      return "an object";
    case "list":
      return "a list";
    case "text":
      return "text (put it in quotes)";
    case "bool":
      return "true or false, without quotes";
    case "duration":
      return "a duration with units, such as 45s or 1m30s";
    case "number":
      return NUMBER_TEXTS[fault.type];
    case "enum":
      return [...fault.table.numbers.keys()].join(", ");
    default:
      return "";
  }
}
