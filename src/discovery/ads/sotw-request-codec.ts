import type { Codec } from "../../grpc/index.ts";
import { type DiscoveryRequest, discoveryRequest } from "../../protobuf/wire/discovery.ts";
import { WIRE_BYTES, WireReader } from "../../protobuf/wire/wire-reader.ts";

const RESOURCE_NAMES = 3;
const NAMES_TAG = (RESOURCE_NAMES << 3) | WIRE_BYTES;
/** Distinct lists that are cached, and their bytes together; equal proxies share them. */
const MAX_LISTS = 64;
const MAX_BYTES = 16 * 1024 * 1024;
/** Shorter lists are read as quickly as they are found. */
const MIN_BYTES = 1024;

interface KnownList {
  /** The fields as they were sent, one after the other. */
  readonly bytes: Buffer;
  readonly names: readonly string[];
}

/**
 * Requests whose names are read once for all clients that send the same bytes: every ACK of a client repeats its whole list,
 * which would otherwise be most of the work of a small push (`bench/discovery`). Equal long lists are one frozen value.
 */
export function createSotwRequestCodec(): Codec<DiscoveryRequest> {
  const lists: KnownList[] = [];
  return {
    encode: (request) => discoveryRequest.encode(request),
    decode(bytes) {
      const start = startOfNames(bytes);
      if (start === undefined || bytes.length - start < MIN_BYTES) return discoveryRequest.decode(bytes);
      const list = lists.find((known) => isAt(bytes, start, known.bytes)) ?? readList(bytes, start);
      if (list.bytes.length < MIN_BYTES) return discoveryRequest.decode(bytes);
      cacheList(lists, list);
      const rest = Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + list.bytes.length)]);
      const request = discoveryRequest.decode(rest);
      // Names in two places are allowed, if unheard of.
      return { ...request, resourceNames: joined(list.names, request.resourceNames) };
    },
  };
}

function startOfNames(bytes: Buffer): number | undefined {
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const at = reader.position;
    const { field, wire } = reader.tag();
    if (field === RESOURCE_NAMES && wire === WIRE_BYTES) return at;
    reader.skip(wire);
  }
  return undefined;
}

/** The same bytes, and no further name behind them. */
function isAt(bytes: Buffer, start: number, list: Buffer): boolean {
  const end = start + list.length;
  return end <= bytes.length && bytes[end] !== NAMES_TAG && bytes.compare(list, 0, list.length, start, end) === 0;
}

function readList(bytes: Buffer, start: number): KnownList {
  const reader = new WireReader(bytes, start);
  const names: string[] = [];
  while (!reader.atEnd && bytes[reader.position] === NAMES_TAG) {
    reader.tag();
    names.push(reader.string());
  }
  // A copy: the message's buffer may be part of a larger one.
  return { bytes: Buffer.from(bytes.subarray(start, reader.position)), names: Object.freeze(names) };
}

/** The most recently used first. */
function cacheList(lists: KnownList[], list: KnownList): void {
  const index = lists.indexOf(list);
  if (index === 0) return;
  if (index > 0) lists.splice(index, 1);
  lists.unshift(list);
  let bytes = lists.reduce((sum, known) => sum + known.bytes.length, 0);
  while (lists.length > 1 && (lists.length > MAX_LISTS || bytes > MAX_BYTES)) bytes -= lists.pop()?.bytes.length ?? 0;
}

function joined(first: readonly string[], second: readonly string[]): readonly string[] {
  return second.length === 0 ? first : [...first, ...second];
}
