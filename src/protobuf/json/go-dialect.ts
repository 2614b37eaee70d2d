import { quoteGo } from "../../base/go-quote.ts";
import type { Fault, JsonDialect } from "./dialect.ts";
import type { NumberCode, NumberFault } from "./read-number.ts";

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

const GO_NUMBERS: Readonly<Record<NumberCode, string>> = {
  i: "int32",
  u: "uint32",
  I: "int64",
  U: "uint64",
  d: "float64",
  f: "float32",
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
