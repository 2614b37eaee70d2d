import type { OutgoingHttpHeaders } from "node:http2";
import { CodedError } from "../base/coded-error.ts";

export class MetadataError extends CodedError<"invalid-metadata"> {}

export type MetadataValue = string | Uint8Array;

/** What callers may pass; `-bin` names take bytes, all others printable ASCII. */
export type MetadataInit = Metadata | Readonly<Record<string, MetadataValue | readonly MetadataValue[]>>;

/** Headers that belong to the protocol and not to the application; the last line is forbidden in HTTP/2 (RFC 9113, section 8.2.2). */
const PROTOCOL_HEADERS = new Set([
  "te",
  "content-type",
  "content-length",
  "grpc-timeout",
  "grpc-encoding",
  "grpc-accept-encoding",
  "grpc-status",
  "grpc-message",
  ...["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "http2-settings"],
]);
const NAME = /^[0-9a-z_.-]+$/;
const TEXT = /^[\x20-\x7e]*$/;

/** Headers or trailers of a call: lower-case names, several values each, in the order they came. */
export class Metadata implements Iterable<readonly [string, string | Buffer]> {
  readonly #values = new Map<string, (string | Buffer)[]>();

  static from(init: MetadataInit | undefined): Metadata {
    if (init instanceof Metadata) return init;
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(init ?? {})) {
      const values = typeof value === "string" || value instanceof Uint8Array ? [value] : value;
      for (const each of values) metadata.append(name, each);
    }
    return metadata;
  }

  /** From the flat name, value, name, value list of node:http2: its header object has already joined repeated names. */
  static fromRawHeaders(raw: readonly string[]): Metadata {
    const metadata = new Metadata();
    for (let index = 0; index + 1 < raw.length; index += 2) {
      const name = raw[index] ?? "";
      if (!name.startsWith(":") && !PROTOCOL_HEADERS.has(name)) metadata.#receive(name, raw[index + 1] ?? "");
    }
    return metadata;
  }

  get size(): number {
    return this.#values.size;
  }

  /** First text value. */
  get(name: string): string | undefined {
    return this.getAll(name).find((value) => typeof value === "string");
  }

  /** First value of a `-bin` name. */
  getBinary(name: string): Buffer | undefined {
    return this.getAll(name).find((value) => typeof value !== "string");
  }

  getAll(name: string): readonly (string | Buffer)[] {
    return this.#values.get(name.toLowerCase()) ?? [];
  }

  set(name: string, value: MetadataValue): this {
    this.delete(name);
    return this.append(name, value);
  }

  append(name: string, value: MetadataValue): this {
    const key = name.toLowerCase();
    checkEntry(key, value);
    this.#add(key, typeof value === "string" ? value : Buffer.from(value));
    return this;
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase());
  }

  /** Adds all entries of the other to this one. */
  merge(other: Metadata): this {
    for (const [name, value] of other) this.append(name, value);
    return this;
  }

  *[Symbol.iterator](): Iterator<readonly [string, string | Buffer]> {
    for (const [name, values] of this.#values) for (const value of values) yield [name, value];
  }

  /** Writes the entries into the headers of a request, answer or trailer. */
  copyTo(headers: OutgoingHttpHeaders): void {
    for (const [name, values] of this.#values) {
      const texts = values.map((value) => (typeof value === "string" ? value : encodeBinary(value)));
      headers[name] = texts.length === 1 ? texts[0] : texts;
    }
  }

  #receive(name: string, value: string): void {
    const isBinary = name.endsWith("-bin");
    if (!isBinary) this.#add(name, value);
    // A proxy may join repeated values with commas, which base64 does not contain.
    else for (const part of value.split(",")) this.#add(name, Buffer.from(part.trim(), "base64"));
  }

  #add(name: string, value: string | Buffer): void {
    const values = this.#values.get(name);
    if (values === undefined) this.#values.set(name, [value]);
    else values.push(value);
  }
}

function encodeBinary(value: Buffer): string {
  return value.toString("base64").replace(/=+$/, "");
}

function checkEntry(name: string, value: MetadataValue): void {
  const problem = problemOf(name, value);
  if (problem === undefined) return;
  // The value may be a token: only the name is printed.
  throw new MetadataError("invalid-metadata", `metadata ${JSON.stringify(name)} ${problem}`);
}

function problemOf(name: string, value: MetadataValue): string | undefined {
  if (!NAME.test(name)) return "has a name outside 0-9 a-z _ . -";
  if (PROTOCOL_HEADERS.has(name)) return "is a name that the protocol keeps for itself";
  if (name.endsWith("-bin"))
    return typeof value === "string" ? "takes bytes, not text, because of its -bin suffix" : undefined;
  if (typeof value !== "string") return "takes text; only names with the suffix -bin take bytes";
  return TEXT.test(value) ? undefined : "has a value outside printable ASCII";
}
