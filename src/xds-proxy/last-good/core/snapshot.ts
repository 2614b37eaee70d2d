import { WIRE_BYTES, WireError, WireReader } from "../../../protobuf/wire/wire-reader.ts";
import { WireWriter } from "../../../protobuf/wire/wire-writer.ts";
import type { XdsProtocol } from "../../../xds/methods.ts";

/** A variable of a Wasm filter's VM that holds registry credentials. It is meant for the agent, but reaches Envoy when that leaves it alone. */
const VARIABLE = "ISTIO_META_WASM_IMAGE_PULL_SECRET";
const FILLER = "x";
/** Fields of a map's entry, and the one of a google.protobuf.Value that is a text. */
const KEY = 1;
const VALUE = 2;
const TEXT = 3;
const key = encodedKey();

/** One resource as it came, its Any still encoded. */
export interface StoredResource {
  readonly version: string;
  readonly any: Buffer;
}

export interface StoredType {
  /** The version that was acknowledged last. */
  version: string;
  readonly resources: Map<string, StoredResource>;
}

/** What a node has accepted, by type and name. */
export type Snapshot = Map<string, StoredType>;

const VERSION = 1;
const RESOURCES = 2;
const REMOVED = 6;

/**
 * Applies one accepted response. `replaces`: it is the whole of its type, so what it does not name is gone; a response to a list of
 * names only changes those it carries. Throws a WireError for bytes that do not decode; the snapshot is then as before.
 */
export function applyResponse(
  snapshot: Snapshot,
  response: {
    readonly kind: XdsProtocol;
    readonly typeUrl: string;
    readonly message: Buffer;
    readonly replaces: boolean;
  },
): void {
  const { version, resources, removed } = readResponse(response.kind, response.message);
  const stored = typeOf(snapshot, response.typeUrl);
  if (response.replaces) stored.resources.clear();
  for (const name of removed) stored.resources.delete(name);
  // One without content only renews its time to live: what was sent before still stands.
  for (const [name, resource] of resources) if (resource.any.length > 0) keepResource(stored, name, resource);
  stored.version = version;
}

/** Never with the credentials that may be in it: they go, or all of it does. */
export function keepResource({ resources }: StoredType, name: string, resource: StoredResource): void {
  if (withoutPullSecret(resource.any) === undefined) resources.delete(name);
  else resources.set(name, resource);
}

export function typeOf(snapshot: Snapshot, typeUrl: string): StoredType {
  const known = snapshot.get(typeUrl);
  if (known !== undefined) return known;
  const fresh: StoredType = { version: "", resources: new Map() };
  snapshot.set(typeUrl, fresh);
  return fresh;
}

/** Leaves only resources of these names. */
export function keepOnly(snapshot: Snapshot, typeUrl: string, names: ReadonlySet<string>): void {
  const stored = snapshot.get(typeUrl);
  for (const name of [...(stored?.resources.keys() ?? [])]) if (!names.has(name)) stored?.resources.delete(name);
}

export function snapshotBytes(snapshot: Snapshot): number {
  let total = 0;
  for (const { resources } of snapshot.values()) for (const { any } of resources.values()) total += any.length;
  return total;
}

function readResponse(kind: XdsProtocol, message: Buffer) {
  const resources: [string, StoredResource][] = [];
  const removed: string[] = [];
  let version = "";
  const reader = new WireReader(message);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (wire !== WIRE_BYTES) reader.skip(wire);
    else if (field === VERSION) version = reader.string();
    else if (field === RESOURCES) resources.push(readResource(kind, reader.bytes()));
    else if (field === REMOVED && kind === "delta") removed.push(reader.string());
    else reader.skip(wire);
  }
  // Every resource of the state of the world has the response's version.
  const versioned = resources.map(([name, { version: own, any }]) => [name, { version: own || version, any }] as const);
  return { version, resources: versioned, removed };
}

/** Copies: a small resource must not keep the large response alive that it came in. */
function readResource(kind: XdsProtocol, bytes: Buffer): [string, StoredResource] {
  if (kind === "sotw") return [nameInside(bytes), { version: "", any: Buffer.from(bytes) }];
  const fields = readFields(bytes, 3);
  const [version, any = NOTHING, name] = [fields[1], fields[2], fields[3]];
  return [name?.toString("utf8") ?? "", { version: version?.toString("utf8") ?? "", any: Buffer.from(any) }];
}

/** Clusters, listeners, routes, endpoints and extensions all have their name in field 1. */
function nameInside(any: Buffer): string {
  const value = readFields(any, 2)[2] ?? NOTHING;
  return readFields(value, 1)[1]?.toString("utf8") ?? "";
}

const NOTHING = Buffer.alloc(0);

function readFields(bytes: Buffer, upTo: number): (Buffer | undefined)[] {
  const found: (Buffer | undefined)[] = [];
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (wire === WIRE_BYTES && field <= upTo) found[field] = reader.bytes();
    else reader.skip(wire);
  }
  return found;
}

/**
 * The resource with registry credentials written over, however deep they are in it: lengths stay, so no message around them changes.
 * Undefined when the variable is there in a form that is not known here: the credentials might then be anywhere. Changes the bytes it
 * is given.
 */
export function withoutPullSecret(resource: Buffer): Buffer | undefined {
  for (let at = resource.indexOf(VARIABLE); at !== -1; at = resource.indexOf(VARIABLE, at + 1)) {
    if (!overwriteValue(resource, at + VARIABLE.length)) return undefined;
  }
  return resource;
}

/** Of the map entry whose key ends there; false when that is none, or one that is written in another order. */
function overwriteValue(resource: Buffer, keyEnd: number): boolean {
  const keyStart = keyEnd - key.length;
  if (keyStart < 0 || !resource.subarray(keyStart, keyEnd).equals(key)) return false;
  const isEntry = (end: number) => {
    const length = varint(end - keyStart);
    return resource.subarray(0, keyStart).subarray(-length.length).equals(length);
  };
  if (isEntry(keyEnd)) return true; // Without a value.
  const found = fieldAt(resource, keyEnd, VALUE);
  if (found === undefined || !isEntry(found.end)) return false;
  // In a TypedStruct the text is in a message of its own.
  const inner = fieldAt(found.value, 0, TEXT);
  (inner?.end === found.value.length ? inner.value : found.value).fill(FILLER);
  return true;
}

function fieldAt(
  bytes: Buffer,
  at: number,
  wanted: number,
): { readonly value: Buffer; readonly end: number } | undefined {
  try {
    const reader = new WireReader(bytes, at);
    const { field, wire } = reader.tag();
    return field === wanted && wire === WIRE_BYTES ? { value: reader.bytes(), end: reader.position } : undefined;
  } catch (failure) {
    if (failure instanceof WireError) return undefined;
    throw failure;
  }
}

function encodedKey(): Buffer {
  const writer = new WireWriter();
  writer.string(KEY, VARIABLE);
  return writer.finish();
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}
