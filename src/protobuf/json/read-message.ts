import { errorMessage } from "../../base/coded-error.ts";
import { parseDuration } from "../../base/duration.ts";
import { isJsonObject } from "../../base/json-object.ts";
import {
  alternativesOf,
  type EnumTable,
  type FieldEntry,
  type FieldType,
  type MessageTable,
  type MessageTables,
  type ScalarCode,
  WELL_KNOWN,
} from "../message-tables.ts";
import { formatProtoDuration, parseProtoDuration } from "../proto-duration.ts";
import { allowedWords, type Fault, type JsonDialect } from "./dialect.ts";
import { type NumberCode, readNumber } from "./read-number.ts";
import { withZeros, zeroOf } from "./zero-values.ts";

/** Where in a document: member names as they are spelled there, and list positions. */
export type Path = readonly (string | number)[];

/** A value that does not fit its field, or a member that its message does not have. */
export interface JsonProblem {
  readonly path: Path;
  readonly code: Fault["code"];
  readonly message: string;
  readonly value: unknown;
  /** What may stand there. */
  readonly allowed: string;
}

export interface ReadMessage {
  /** By JSON name; null members and unknown ones are left out, those with a problem too. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly problems: readonly JsonProblem[];
}

type Members = Record<string, unknown>;

/** A JSON document as a message. All problems are collected. */
export function readMessage(
  table: MessageTable,
  document: unknown,
  dialect: JsonDialect,
  path: Path = [],
): ReadMessage {
  const reader = new Reader(dialect, table.tables, path);
  const value = reader.message(table, document, undefined);
  return { value: dialect.fills ? withZeros(table, value) : value, problems: reader.problems };
}

/** The way to a member from the document's own; a path is made of it where there is a problem. */
type Trail = { readonly outer: Trail; readonly key: string | number } | undefined;

class Reader {
  readonly problems: JsonProblem[] = [];
  readonly #dialect: JsonDialect;
  readonly #tables: MessageTables;
  readonly #start: Path;
  /** How many values did not fit; unknown members do not count. */
  #failures = 0;

  constructor(dialect: JsonDialect, tables: MessageTables, start: Path) {
    this.#dialect = dialect;
    this.#tables = tables;
    this.#start = start;
  }

  message(table: MessageTable, json: unknown, at: Trail, beside?: string): Members {
    const result: Members = {};
    const object = isJsonObject(json) ? json : this.#fail(at, json, { code: "object", name: table.name });
    if (object === undefined) return result;
    const useless = this.#dialect.withoutEffect?.get(table.name);
    for (const field of table.fields) {
      const value = this.#member(table, field, object, at);
      if (value !== undefined) {
        const reason = useless?.[field.name];
        if (reason !== undefined && !isZero(value))
          this.#fail({ outer: at, key: keyOf(field, object) }, value, { code: "no-effect", reason });
        if (this.#dialect.oneofs === "last")
          for (const other of alternativesOf(table, field)) delete result[other.name];
        result[field.name] = value;
      }
    }
    for (const key of Object.keys(object)) {
      const field = table.bySpelling.get(key);
      if (key === beside || (field !== undefined && !this.#isIgnored(table, field))) continue;
      this.#fail({ outer: at, key }, object[key], { code: "unknown", name: table.name, key });
    }
    if (this.#dialect.oneofs === "refuse") this.#checkOneofs(table, result, at);
    return result;
  }

  /** Undefined for a member that is not there, or is wrong. */
  #member(table: MessageTable, field: FieldEntry, object: Readonly<Members>, at: Trail): unknown {
    const key = keyOf(field, object);
    const json = Object.hasOwn(object, key) ? object[key] : undefined;
    if (json === undefined || json === null || this.#isIgnored(table, field)) return undefined;
    if (this.#dialect.isStrict && key !== field.protoName && Object.hasOwn(object, field.protoName)) {
      return this.#fail({ outer: at, key }, json, { code: "twice" });
    }
    const before = this.#failures;
    const value = this.#field(field, json, { outer: at, key });
    return this.#failures > before ? undefined : value;
  }

  #field({ shape, type, key: keyType }: FieldEntry, json: unknown, at: Trail): unknown {
    if (shape === "one") return this.#value(type, json, at);
    if (shape === "list") {
      if (!Array.isArray(json)) return this.#fail(at, json, { code: "list" });
      return json.map((element, index) => this.#element(type, element, { outer: at, key: index }, "nullElements"));
    }
    if (!isJsonObject(json)) return this.#fail(at, json, { code: "object" });
    return Object.fromEntries(
      Object.entries(json).map(([key, element]) => {
        const inside = { outer: at, key };
        if (keyType !== "s" && !/^\d+$/.test(key)) this.#fail(inside, key, { code: "key" });
        return [key, this.#element(type, element, inside, "nullEntries")];
      }),
    );
  }

  #element(type: FieldType, json: unknown, at: Trail, nulls: "nullElements" | "nullEntries"): unknown {
    if (json !== null || type.kind === "value") return this.#value(type, json, at);
    return this.#dialect[nulls] ? zeroOf(type, this.#dialect.fills) : this.#fail(at, json, { code: "null", type });
  }

  #value(type: FieldType, json: unknown, at: Trail): unknown {
    switch (type.kind) {
      case "message":
        return this.message(type.table, json, at);
      case "scalar":
      case "wrapper":
        return this.#scalar(type.code, json, at);
      case "enum":
        return this.#enum(type.table, json, at);
      case "duration":
        return this.#duration(json, at);
      case "timestamp":
        if (typeof json === "string" && !Number.isNaN(Date.parse(json))) return json;
        return this.#fail(at, json, { code: "timestamp" });
      case "struct":
        // What has no other shape is checked by whoever reads it.
        return !this.#dialect.isStrict || isJsonObject(json)
          ? asDoubles(json)
          : this.#fail(at, json, { code: "object" });
      case "list":
        return Array.isArray(json) ? asDoubles(json) : this.#fail(at, json, { code: "list" });
      case "value":
        return asDoubles(json);
      case "any":
        return isJsonObject(json) ? this.#any(json, at) : this.#fail(at, json, { code: "object" });
    }
  }

  #scalar(code: ScalarCode, json: unknown, at: Trail): unknown {
    if (code === "b") return typeof json === "boolean" ? json : this.#fail(at, json, { code: "bool" });
    if (code === "s") return typeof json === "string" ? json : this.#fail(at, json, { code: "text" });
    if (code !== "y") return this.#number(code, json, at);
    if (typeof json !== "string") return this.#fail(at, json, { code: "text" });
    // Standard and URL alphabet, with or without padding.
    if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(json)) return this.#fail(at, json, { code: "base64" });
    return json;
  }

  #number(code: NumberCode, json: unknown, at: Trail): unknown {
    const number = readNumber(code, json, this.#numbers());
    if (!("reason" in number)) return number.value;
    return this.#fail(at, json, { code: "number", type: code, asNumbers: this.#dialect.fills, fault: number });
  }

  #numbers() {
    return { quotedDocuments: this.#dialect.isGo, asNumbers: this.#dialect.fills };
  }

  #duration(json: unknown, at: Trail): unknown {
    if (typeof json !== "string") return this.#fail(at, json, { code: "duration" });
    try {
      return formatProtoDuration(this.#dialect.isStrict ? parseProtoDuration(json) : parseDuration(json));
    } catch (thrown) {
      return this.#fail(at, json, { code: "duration", reason: errorMessage(thrown) });
    }
  }

  /** By exact name or by number. */
  #enum(table: EnumTable, json: unknown, at: Trail): unknown {
    if (typeof json === "string" && table.numbers.has(json)) return json;
    if (typeof json === "string") return this.#fail(at, json, { code: "enum", table });
    const number = readNumber("i", json, this.#numbers());
    if ("reason" in number) return this.#fail(at, json, { code: "enum", table, fault: number });
    const name = table.names.get(Number(number.value));
    if (name !== undefined || this.#dialect.hasOpenEnums) return name ?? number.value;
    return this.#fail(at, json, { code: "enum", table });
  }

  /** A type is known by what follows the last slash of its URL. */
  #any(json: Readonly<Members>, at: Trail): unknown {
    const url = json["@type"];
    if (Object.keys(json).length === 0 && this.#dialect.allowsEmptyAny === true) return {};
    if (typeof url !== "string") return this.#fail({ outer: at, key: "@type" }, url, { code: "type" });
    const name = url.slice(url.lastIndexOf("/") + 1);
    if (this.#tables.has(name)) {
      return { "@type": url, ...this.message(this.#tables.message(name), json, at, "@type") };
    }
    const known = WELL_KNOWN.get(name);
    if (known === undefined && name !== EMPTY) return this.#fail(at, url, { code: "unresolved", name });
    const extra = Object.keys(json).find((key) => key !== "@type" && key !== "value");
    if (extra !== undefined)
      return this.#fail({ outer: at, key: extra }, json[extra], { code: "unknown", name, key: extra });
    if (known === undefined) return this.#empty(url, json.value, at);
    const value = Object.hasOwn(json, "value")
      ? this.#value(known, json.value, { outer: at, key: "value" })
      : undefined;
    if (value === undefined && !Object.hasOwn(json, "value")) this.#fail(at, undefined, { code: "missing", name });
    return { "@type": url, value };
  }

  #empty(url: string, json: unknown, at: Trail): unknown {
    const key = isJsonObject(json) ? Object.keys(json)[0] : undefined;
    if (key !== undefined)
      return this.#fail({ outer: { outer: at, key: "value" }, key }, json, { code: "unknown", name: EMPTY, key });
    return { "@type": url };
  }

  #isIgnored(table: MessageTable, field: FieldEntry): boolean {
    return this.#dialect.isIgnored?.(table, field) === true;
  }

  #checkOneofs(table: MessageTable, members: Members, at: Trail): void {
    for (const group of table.oneofs) {
      const set = group.filter((name) => members[name] !== undefined);
      if (set.length > 1) this.#fail(at, undefined, { code: "oneof", group, set });
    }
  }

  #fail(at: Trail, value: unknown, fault: Fault): undefined {
    if (fault.code !== "unknown" && fault.code !== "no-effect") this.#failures += 1;
    const message = this.#dialect.words(fault, value);
    this.problems.push({
      path: [...this.#start, ...pathOf(at)],
      code: fault.code,
      message,
      value,
      allowed: allowedWords(fault),
    });
    return undefined;
  }
}

function pathOf(at: Trail): Path {
  return at === undefined ? [] : [...pathOf(at.outer), at.key];
}

/** The JSON name wins over the name of the .proto file, even when it is null. */
function keyOf({ name, protoName }: FieldEntry, object: Readonly<Members>): string {
  return Object.hasOwn(object, name) ? name : protoName;
}

function isZero(value: unknown): boolean {
  return value === false || value === "" || value === 0 || (Array.isArray(value) && value.length === 0);
}

const EMPTY = "google.protobuf.Empty";

/** `http[0].match[1]["x.y"]`: names with other characters than those of names are quoted. */
export function formatPath(path: Path): string {
  return path
    .map((part, index) => {
      if (typeof part === "number") return `[${part}]`;
      if (!/^[-\w]+$/.test(part)) return `[${JSON.stringify(part)}]`;
      return index === 0 ? part : `.${part}`;
    })
    .join("");
}

/** A Struct has no other numbers. */
function asDoubles(json: unknown): unknown {
  if (typeof json === "bigint") return Number(json);
  if (Array.isArray(json)) return json.map(asDoubles);
  if (typeof json !== "object" || json === null) return json;
  return Object.fromEntries(Object.entries(json).map(([key, member]) => [key, asDoubles(member)]));
}
