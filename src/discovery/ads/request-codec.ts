import { type Codec, GrpcError } from "../../grpc/index.ts";
import {
  type DeltaDiscoveryRequest,
  type DiscoveryRequest,
  deltaDiscoveryRequest,
  discoveryRequest,
} from "../../protobuf/wire/discovery.ts";
import { WIRE_BYTES, WireReader } from "../../protobuf/wire/wire-reader.ts";

/** Of one type. More than any proxy can hold, and not so many that making them keeps all others waiting. */
export const MAX_NAMES = 100_000;

/** `resource_names` of one protocol, `resource_names_subscribe` of the other. */
const NAMES = 3;
/** Distinct lists that are cached, and their bytes together; equal proxies share them. */
const MAX_LISTS = 64;
const MAX_BYTES = 16 * 1024 * 1024;
/** Shorter lists are read as quickly as they are found. */
const MIN_BYTES = 1024;

/** The names that a request asks for, as they came: counted, and not decoded into a list that memory has to hold. */
export interface EncodedNames {
  readonly count: number;
  /** Of the names alone. */
  readonly bytes: number;
  [Symbol.iterator](): Iterator<string>;
}

const encoded = new WeakMap<object, EncodedNames>();

/** Undefined for a short list, which is decoded already. */
export function encodedNames(request: DiscoveryRequest | DeltaDiscoveryRequest): EncodedNames | undefined {
  return encoded.get(request);
}

/**
 * Requests whose names are read once for all clients that send the same bytes: every ACK of a client repeats its whole list,
 * which would otherwise be most of the work of a small push (`bench/discovery`). Equal long lists are one frozen value. A long list
 * is decoded when it is first looked at: until then it can be counted, and refused.
 */
export function createSotwRequestCodec(): Codec<DiscoveryRequest> {
  const lists: KnownList[] = [];
  return {
    encode: (request) => discoveryRequest.encode(request),
    decode(bytes) {
      const run = findNames(bytes, lists);
      if (run === undefined) return discoveryRequest.decode(bytes);
      // Names in two places are allowed, if unheard of.
      const request = discoveryRequest.decode(withoutRun(bytes, run));
      const rest = request.resourceNames;
      return withLazyNames(request, "resourceNames", run, () => joined(recallList(lists, bytes, run), rest));
    },
  };
}

export function createDeltaRequestCodec(): Codec<DeltaDiscoveryRequest> {
  return {
    encode: (request) => deltaDiscoveryRequest.encode(request),
    decode(bytes) {
      const run = findNames(bytes);
      if (run === undefined) return deltaDiscoveryRequest.decode(bytes);
      const request = deltaDiscoveryRequest.decode(withoutRun(bytes, run));
      const rest = request.resourceNamesSubscribe;
      return withLazyNames(request, "resourceNamesSubscribe", run, () => joined([...run.names], rest));
    },
  };
}

interface NameRun {
  readonly start: number;
  readonly end: number;
  readonly names: EncodedNames;
}

/**
 * The fields with names that stand one after the other, where all senders put them; undefined when they are short. Names elsewhere and the
 * entries of other lists and maps are decoded with the rest of the message, so they are limited here. A list that is `known` is compared,
 * not counted again.
 */
function findNames(bytes: Buffer, known: readonly KnownList[] = []): NameRun | undefined {
  let reader = new WireReader(bytes);
  let run: { start: number; end: number; count: number; bytes: number } | undefined;
  let others = 0;
  while (!reader.atEnd) {
    const start = reader.position;
    const { field, wire } = reader.tag();
    if (wire !== WIRE_BYTES) {
      reader.skip(wire);
      continue;
    }
    const list =
      field === NAMES && run === undefined ? known.find((each) => isAt(bytes, start, each.bytes)) : undefined;
    if (list !== undefined) {
      run = { start, end: start + list.bytes.length, count: list.names.length, bytes: list.nameBytes };
      reader = new WireReader(bytes, run.end);
      continue;
    }
    const length = reader.skipBytes();
    if (field !== NAMES || (run !== undefined && run.end !== start)) others += 1;
    else {
      run ??= { start, end: start, count: 0, bytes: 0 };
      run.end = reader.position;
      run.count += 1;
      run.bytes += length;
    }
  }
  if (others > MAX_NAMES) {
    const text = `a request with ${others} fields beside its names is refused, at most ${MAX_NAMES} are decoded`;
    throw new GrpcError("RESOURCE_EXHAUSTED", text);
  }
  if (run === undefined || run.end - run.start < MIN_BYTES) return undefined;
  const { start, end, count } = run;
  const names = { count, bytes: run.bytes, [Symbol.iterator]: () => readNames(bytes, start, end) };
  return { start, end, names };
}

function isAt(bytes: Buffer, start: number, part: Buffer): boolean {
  const end = start + part.length;
  return end <= bytes.length && bytes.compare(part, 0, part.length, start, end) === 0;
}

function* readNames(bytes: Buffer, start: number, end: number): Generator<string> {
  const reader = new WireReader(bytes, start, end);
  while (!reader.atEnd) {
    reader.tag();
    yield reader.string();
  }
}

function withoutRun(bytes: Buffer, { start, end }: NameRun): Buffer {
  return Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
}

function withLazyNames<Request extends object>(
  request: Request,
  field: keyof Request & string,
  { names }: NameRun,
  decode: () => readonly string[],
): Request {
  let decoded: readonly string[] | undefined;
  const lazy = Object.defineProperty({ ...request }, field, {
    enumerable: true,
    get: () => {
      decoded ??= decode();
      return decoded;
    },
  });
  encoded.set(lazy, names);
  return lazy;
}

interface KnownList {
  /** The fields as they were sent, one after the other. */
  readonly bytes: Buffer;
  /** Of the names alone. */
  readonly nameBytes: number;
  readonly names: readonly string[];
}

/** The most recently used comes first. */
function recallList(lists: KnownList[], bytes: Buffer, run: NameRun): readonly string[] {
  const sent = bytes.subarray(run.start, run.end);
  const list = lists.find((known) => known.bytes.equals(sent)) ?? {
    // A copy: the message's buffer may be part of a larger one.
    bytes: Buffer.from(sent),
    nameBytes: run.names.bytes,
    names: Object.freeze([...run.names]),
  };
  const index = lists.indexOf(list);
  if (index === 0) return list.names;
  if (index > 0) lists.splice(index, 1);
  lists.unshift(list);
  let total = lists.reduce((sum, known) => sum + known.bytes.length, 0);
  while (lists.length > 1 && (lists.length > MAX_LISTS || total > MAX_BYTES)) total -= lists.pop()?.bytes.length ?? 0;
  return list.names;
}

function joined(first: readonly string[], second: readonly string[]): readonly string[] {
  return second.length === 0 ? first : [...first, ...second];
}
