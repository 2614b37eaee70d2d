import type { EnumTable, FieldEntry, FieldType, MessageTable } from "../message-tables.ts";
import type { NumberCode, NumberFault } from "./read-number.ts";

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
  /** Why members are of no use, by message and name; one that is set to anything but its zero value is reported. They are read as others are. */
  readonly withoutEffect?: ReadonlyMap<string, Readonly<Record<string, string>>>;
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
  | { readonly code: "no-effect"; readonly reason: string }
  | { readonly code: "unresolved" | "missing"; readonly name: string };

const NUMBER_TEXTS: Readonly<Record<NumberCode, string>> = {
  i: "a whole number of 32 bits",
  u: "a whole number of 32 bits, 0 or more",
  I: "a whole number of 64 bits",
  U: "a whole number of 64 bits, 0 or more",
  d: "a number",
  f: "a number",
};

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
