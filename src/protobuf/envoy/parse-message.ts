import { EnvoyCodecError } from "./codec-error.ts";
import { encodeUntyped } from "./encode-message.ts";
import { type FieldEntry, type FieldType, isMessageName, messageTable } from "./field-table.ts";

type Members = Readonly<Record<string, unknown>>;

/**
 * A message as somebody wrote it, in the canonical form that the other functions here take: members may be spelled as in the .proto files
 * or in JSON's way. What no such message can hold is an error that says where it is.
 */
export function parseMessage(name: string, value: unknown): Members {
  const parsed = parseMembers(name, value);
  // Values of members are checked by writing them.
  encodeUntyped(name, parsed);
  return parsed;
}

function parseMembers(name: string, value: unknown): Members {
  const table = messageTable(name);
  const members: Record<string, unknown> = {};
  const groups = new Map<number, string>();
  for (const [key, member] of Object.entries(expectObject(value))) {
    if (key === "@type" || member === null || member === undefined) continue;
    const field = table.byName.get(jsonName(key));
    if (field === undefined) throw new EnvoyCodecError("unknown-member", `${name} has no member ${key}`);
    if (Object.hasOwn(members, field.name)) throw new EnvoyCodecError("bad-value", `${field.name} is there twice`);
    const other = field.oneof === 0 ? undefined : groups.get(field.oneof);
    if (other !== undefined) throw new EnvoyCodecError("bad-value", `${name} has ${other} or ${key}, not both`);
    groups.set(field.oneof, key);
    members[field.name] = inMember(key, () => parseField(field, member));
  }
  return members;
}

function parseField({ shape, type }: FieldEntry, value: unknown): unknown {
  if (shape === "one") return parseValue(type, value);
  if (shape === "map") {
    return Object.fromEntries(Object.entries(expectObject(value)).map(([key, one]) => [key, parseValue(type, one)]));
  }
  if (Array.isArray(value)) return value.map((one) => parseValue(type, one));
  throw new EnvoyCodecError("bad-value", `expected a list, found ${JSON.stringify(value)}`);
}

function parseValue(type: FieldType, value: unknown): unknown {
  if (type.kind === "message") return parseMembers(type.name, value);
  if (type.kind === "any") return parseAny(expectObject(value));
  if (type.kind === "duration") return typeof value === "string" ? canonicalDuration(value) : value;
  // Writers of YAML give numbers as text and the other way round; JSON readers take both.
  if ((type.kind === "scalar" || type.kind === "wrapper") && "uidf".includes(type.code) && typeof value === "string") {
    return value.trim() === "" || Number.isNaN(Number(value)) ? value : Number(value);
  }
  return value;
}

function parseAny(value: Members): Members {
  const url = value["@type"];
  if (typeof url !== "string") throw new EnvoyCodecError("bad-value", `"@type" is missing`);
  const name = url.slice(url.lastIndexOf("/") + 1);
  return isMessageName(name) ? { "@type": url, ...parseMembers(name, value) } : value;
}

/** `1.50s` is `1.500s`: three, six or nine decimals, or none. */
function canonicalDuration(text: string): string {
  const [, seconds, fraction = ""] = /^(-?\d+)(?:\.(\d{1,9}))?s$/.exec(text) ?? [];
  if (seconds === undefined) return text;
  const digits = fraction.padEnd(9, "0").replace(/(?:000){1,3}$/, "");
  return `${seconds}${digits === "" ? "" : `.${digits}`}s`;
}

function jsonName(name: string): string {
  return name.replace(/_+(.?)/g, (_, next: string) => next.toUpperCase());
}

function inMember<Value>(name: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (thrown) {
    throw thrown instanceof EnvoyCodecError ? new EnvoyCodecError(thrown.code, `${name}: ${thrown.message}`) : thrown;
  }
}

function expectObject(value: unknown): Members {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  throw new EnvoyCodecError("bad-value", `expected an object, found ${JSON.stringify(value)}`);
}
