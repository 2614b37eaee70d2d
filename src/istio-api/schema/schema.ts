import type { ProtoDuration } from "../proxy-config/proxy-config.ts";

/**
 * Messages of the user API as data. The TypeScript type of a decoded message is derived from its table, so that the two cannot drift
 * apart. Zero values are filled in as proto3 does: lists and maps are never absent, nested messages and `optional` members may be.
 */
export type Schema<Value = unknown> =
  | ScalarSchema<Value>
  | EnumSchema<Value>
  | ListSchema<Value>
  | MapSchema<Value>
  | MessageSchema<Value>;

/** `json` is free-form data; `bytes` is base64 text, kept as it is. */
export type ScalarName = "string" | "bool" | "int32" | "uint32" | "uint64" | "double" | "duration" | "bytes" | "json";

/** Carries the decoded type; never present at run time. */
interface Typed<Value> {
  readonly value?: Value;
}

export interface ScalarSchema<Value> extends Typed<Value> {
  readonly type: ScalarName;
}

export interface EnumSchema<Value> extends Typed<Value> {
  readonly type: "enum";
  /** In the order of their numbers, from 0; the first is the default. */
  readonly names: readonly string[];
}

export interface ListSchema<Value> extends Typed<Value> {
  readonly type: "list";
  readonly element: Schema;
}

export interface MapSchema<Value> extends Typed<Value> {
  readonly type: "map";
  readonly element: Schema;
  /** Keys of protobuf maps may be numbers; in JSON they are text. */
  readonly key: "string" | "uint32";
}

export interface MessageSchema<Value> extends Typed<Value> {
  readonly type: "message";
  /** What a user calls it, for error texts: "subset", "http route". */
  readonly label: string;
  readonly fields: ReadonlyMap<string, FieldSchema>;
  /** Groups of members of which one at most is set. */
  readonly oneofs: readonly (readonly string[])[];
}

export interface FieldSchema {
  readonly name: string;
  /** The spelling of the proto file, which documents may use as well. */
  readonly protoName: string;
  readonly schema: Schema;
  /** Unset is told apart from zero. */
  readonly optional: boolean;
}

/** A member whose absence means something: wrappers and members of a oneof. */
export interface Optional<Value> {
  readonly optional: Schema<Value>;
}

type Fields = Readonly<Record<string, Schema | Optional<unknown>>>;

/** The decoded form of a schema. */
export type Infer<Of> = Of extends Typed<infer Value> ? Value : never;

type Absentable<Of> =
  Of extends Optional<unknown>
    ? true
    : Of extends MessageSchema<unknown> | { readonly type: "duration" | "json" }
      ? true
      : false;
type Member<Of> = Of extends Optional<infer Value> ? Value : Infer<Of>;
type Required<Of extends Fields> = {
  readonly [Name in keyof Of as Absentable<Of[Name]> extends true ? never : Name]: Member<Of[Name]>;
};
type Absent<Of extends Fields> = {
  readonly [Name in keyof Of as Absentable<Of[Name]> extends true ? Name : never]?: Member<Of[Name]>;
};
type Message<Of extends Fields> = Required<Of> & Absent<Of>;

export const string: ScalarSchema<string> = { type: "string" };
export const bool: ScalarSchema<boolean> = { type: "bool" };
export const int32: ScalarSchema<number> = { type: "int32" };
export const uint32: ScalarSchema<number> = { type: "uint32" };
/** Up to the largest integer a number holds exactly. */
export const uint64: ScalarSchema<number> = { type: "uint64" };
export const double: ScalarSchema<number> = { type: "double" };
export const duration: ScalarSchema<ProtoDuration> & { readonly type: "duration" } = { type: "duration" };
export const bytes: ScalarSchema<string> = { type: "bytes" };
export const json: ScalarSchema<unknown> & { readonly type: "json" } = { type: "json" };

export function oneOf<const Names extends readonly string[]>(...names: Names): EnumSchema<Names[number]> {
  return { type: "enum", names };
}

export function list<Element>(element: Schema<Element>): ListSchema<readonly Element[]> {
  return { type: "list", element };
}

export function map<Element>(
  element: Schema<Element>,
  key: MapSchema<unknown>["key"] = "string",
): MapSchema<Readonly<Record<string, Element>>> {
  return { type: "map", element, key };
}

export function optional<Value>(schema: Schema<Value>): Optional<Value> {
  return { optional: schema };
}

export function message<const Of extends Fields>(
  label: string,
  members: Of,
  oneofs: readonly (readonly (keyof Of & string)[])[] = [],
): MessageSchema<Message<Of>> {
  const fields = new Map(Object.entries(members).map(([name, member]) => [name, toField(name, member)]));
  return { type: "message", label, fields, oneofs };
}

function toField(name: string, member: Schema | Optional<unknown>): FieldSchema {
  const isOptional = "optional" in member;
  const schema = isOptional ? member.optional : member;
  const present = schema.type !== "message" && schema.type !== "duration" && schema.type !== "json";
  return { name, protoName: protoName(name), schema, optional: isOptional || !present };
}

/** `consecutive5xxErrors` is `consecutive_5xx_errors`, but `http2MaxRequests` is `http2_max_requests`. */
function protoName(name: string): string {
  return name.replace(/5xx/, "_5xx").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
