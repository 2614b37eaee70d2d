import { WIRE_BYTES, WireError, WireReader } from "../../../protobuf/wire/wire-reader.ts";
import { WireWriter } from "../../../protobuf/wire/wire-writer.ts";

/** A variable of a Wasm filter's VM that holds registry credentials. It is meant for the agent, but reaches Envoy when that leaves it alone. */
const VARIABLE = "ISTIO_META_WASM_IMAGE_PULL_SECRET";
const FILLER = "x";

/** Fields of a map's entry, and the one of a google.protobuf.Value that is a text. */
const KEY = 1;
const VALUE = 2;
const TEXT = 3;
const key = encodedKey();

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
