import type { Fault, JsonDialect } from "./dialect.ts";
import { rangeOf } from "./read-number.ts";

/** Rule objects: values are complete, and what contradicts itself is refused. A key without a value, as in `headers: {x-present: }`, is zero. */
export const RULE_JSON: JsonDialect = {
  fills: true,
  oneofs: "refuse",
  nullElements: false,
  nullEntries: true,
  hasOpenEnums: false,
  isStrict: false,
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
      case "no-effect":
        return `has no effect: ${fault.reason}`;
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
