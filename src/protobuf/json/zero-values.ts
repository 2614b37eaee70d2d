import { type FieldEntry, type FieldType, hasPresence, type MessageTable, type ScalarCode } from "../message-tables.ts";

type Members = Readonly<Record<string, unknown>>;

/** The message as a JSON printer would give it: without zero values. */
export function withoutZeros(table: MessageTable, message: object): Members {
  const result: Record<string, unknown> = {};
  for (const field of table.fields) {
    const value = (message as Members)[field.name];
    if (value === undefined || (!hasPresence(field) && isZero(field, value))) continue;
    result[field.name] = eachMessage(field, value, withoutZeros);
  }
  return result;
}

/** The message with the zero values of members that have no presence; 64-bit integers are numbers. */
export function withZeros(table: MessageTable, message: object): Members {
  const result: Record<string, unknown> = {};
  for (const field of table.fields) {
    const value = (message as Members)[field.name];
    if (value !== undefined) result[field.name] = eachMessage(field, value, withZeros);
    else if (field.shape === "list") result[field.name] = NO_ELEMENTS;
    else if (field.shape === "map") result[field.name] = NO_ENTRIES;
    else if (!hasPresence(field)) result[field.name] = zeroOf(field.type, true);
  }
  return result;
}

/** The same for all: most members of most messages are not set. */
const NO_ELEMENTS: readonly never[] = Object.freeze([]);
const NO_ENTRIES = Object.freeze({});

/** A sparse message is an empty one. */
export function zeroOf(type: FieldType, asNumbers: boolean): unknown {
  switch (type.kind) {
    case "message":
      return {};
    case "enum":
      return type.table.names.get(0);
    case "duration":
      return "0s";
    case "scalar":
    case "wrapper":
      if (type.code === "b") return false;
      if (type.code === "s" || type.code === "y") return "";
      return isWide(type.code) && !asNumbers ? "0" : 0;
    case "list":
      return [];
    default:
      return null;
  }
}

function eachMessage({ type, shape }: FieldEntry, value: unknown, convert: typeof withZeros): unknown {
  if (type.kind !== "message") return value;
  if (shape === "list") return (value as readonly Members[]).map((element) => convert(type.table, element));
  if (shape === "one") return convert(type.table, value as Members);
  const entries = Object.entries(value as Readonly<Record<string, Members>>);
  return Object.fromEntries(entries.map(([key, member]) => [key, convert(type.table, member)]));
}

/** Zero by the type's own measure: the first enum name, the empty text. Empty lists and maps have no presence. */
function isZero({ shape, type }: FieldEntry, value: unknown): boolean {
  if (shape !== "one") return Object.keys(value as object).length === 0;
  if (type.kind === "enum") return value === 0 || (typeof value === "string" && type.table.numbers.get(value) === 0);
  const isZeroText = type.kind === "scalar" && isWide(type.code) && value === "0";
  return value === "" || value === 0 || value === false || isZeroText;
}

function isWide(code: ScalarCode): boolean {
  return code === "I" || code === "U";
}
