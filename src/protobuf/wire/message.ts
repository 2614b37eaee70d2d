import { WIRE_BYTES, WIRE_FIXED64, WIRE_VARINT, WireReader } from "./wire-reader.ts";
import { WireWriter } from "./wire-writer.ts";

/** One field of a message: how it is written, read, and what it is when absent. */
export interface Field<Value> {
  readonly number: number;
  absent(): Value;
  write(writer: WireWriter, value: Value): void;
  /** `current` is what earlier occurrences of the field gave; undefined for a wire type that does not fit, which skips the field. */
  read(reader: WireReader, wire: number, current: Value): Value | undefined;
}

type Fields = Readonly<Record<string, Field<unknown>>>;
type ValueOf<F> = F extends Field<infer Value> ? Value : never;
export type MessageOf<F extends Fields> = { -readonly [Name in keyof F]: ValueOf<F[Name]> };

/** Fits the gRPC layer's codec. Absent members are left out of the encoding; decoding fills every member and skips unknown fields. */
export interface MessageCodec<Message> {
  encode(message: Partial<Message>): Buffer;
  decode(bytes: Buffer): Message;
}

export type MessageType<Codec> = Codec extends MessageCodec<infer Message> ? Message : never;

/**
 * A codec from a table of fields. The agent speaks a dozen small messages; a table costs a few kilobytes where a general protobuf
 * runtime with descriptors costs eight megabytes of private memory.
 */
export function message<F extends Fields>(fields: F): MessageCodec<MessageOf<F>> {
  const byNumber = new Map(Object.entries(fields).map(([name, field]) => [field.number, { name, field }]));
  return {
    encode(value) {
      const writer = new WireWriter();
      for (const [name, field] of Object.entries(fields)) {
        const member = (value as Record<string, unknown>)[name];
        if (member !== undefined) field.write(writer, member);
      }
      return writer.finish();
    },
    decode(bytes) {
      const value: Record<string, unknown> = {};
      for (const [name, field] of Object.entries(fields)) value[name] = field.absent();
      const reader = new WireReader(bytes);
      while (!reader.atEnd) {
        const { field: number, wire } = reader.tag();
        const known = byNumber.get(number);
        const member = known?.field.read(reader, wire, value[known.name]);
        if (known === undefined || member === undefined) reader.skip(wire);
        else value[known.name] = member;
      }
      return value as MessageOf<F>;
    },
  };
}

/** A field whose zero value is not sent. */
function scalar<Value>(
  number: number,
  zero: Value,
  wireType: number,
  write: (writer: WireWriter, value: Value) => void,
  read: (reader: WireReader) => Value,
): Field<Value> {
  return {
    number,
    absent: () => zero,
    write: (writer, value) => {
      if (value !== zero) write(writer, value);
    },
    read: (reader, wire) => (wire === wireType ? read(reader) : undefined),
  };
}

export const string = (number: number): Field<string> =>
  scalar(
    number,
    "",
    WIRE_BYTES,
    (writer, value) => writer.string(number, value),
    (reader) => reader.string(),
  );

export const bool = (number: number): Field<boolean> =>
  scalar(
    number,
    false,
    WIRE_VARINT,
    (writer, value) => writer.uint32(number, value ? 1 : 0),
    (reader) => reader.uint64() !== 0n,
  );

/** Also enums and int32, whose negative values this agent never sends. */
export const uint32 = (number: number): Field<number> =>
  scalar(
    number,
    0,
    WIRE_VARINT,
    (writer, value) => writer.uint32(number, value),
    (reader) => reader.uint32(),
  );

export const int64 = (number: number): Field<bigint> =>
  scalar(
    number,
    0n,
    WIRE_VARINT,
    (writer, value) => writer.int64(number, value),
    (reader) => BigInt.asIntN(64, reader.uint64()),
  );

export const double = (number: number): Field<number> =>
  scalar(
    number,
    0,
    WIRE_FIXED64,
    (writer, value) => writer.double(number, value),
    (reader) => reader.double(),
  );

const NO_BYTES = Buffer.alloc(0);

/** A view on the decoded buffer: copy it to keep it longer than the buffer. */
export const bytes = (number: number): Field<Uint8Array> => ({
  number,
  absent: () => NO_BYTES,
  write: (writer, value) => {
    if (value.length > 0) writer.bytes(number, value);
  },
  read: (reader, wire) => (wire === WIRE_BYTES ? reader.bytes() : undefined),
});

/** A message-typed member; undefined when absent. Only one occurrence is expected: the last one wins. */
export const nested = <Message>(number: number, codec: MessageCodec<Message>): Field<Partial<Message> | undefined> => ({
  number,
  absent: () => undefined,
  write: (writer, value) => {
    if (value !== undefined) writer.bytes(number, codec.encode(value));
  },
  read: (reader, wire) => (wire === WIRE_BYTES ? codec.decode(reader.bytes()) : undefined),
});

export const repeatedString = (number: number): Field<readonly string[]> => ({
  number,
  absent: () => [],
  write: (writer, values) => {
    for (const value of values) writer.string(number, value);
  },
  read: (reader, wire, current) => (wire === WIRE_BYTES ? append(current, reader.string()) : undefined),
});

export const repeated = <Message>(
  number: number,
  codec: MessageCodec<Message>,
): Field<readonly Partial<Message>[]> => ({
  number,
  absent: () => [],
  write: (writer, values) => {
    for (const value of values) writer.bytes(number, codec.encode(value));
  },
  read: (reader, wire, current) => (wire === WIRE_BYTES ? append(current, codec.decode(reader.bytes())) : undefined),
});

/** map<string, V>, sent as repeated {key 1, value 2}. */
export const map = <Value>(number: number, value: Field<Value>): Field<ReadonlyMap<string, Value>> => {
  const entry = message({ key: string(1), value });
  return {
    number,
    absent: () => new Map(),
    write: (writer, entries) => {
      for (const [key, item] of entries)
        writer.bytes(
          number,
          entry.encode({ key, value: item } as Partial<MessageOf<{ key: Field<string>; value: Field<Value> }>>),
        );
    },
    read: (reader, wire, current) => {
      if (wire !== WIRE_BYTES) return undefined;
      const { key, value: item } = entry.decode(reader.bytes());
      return (current as Map<string, Value>).set(key, item as Value);
    },
  };
};

/** `current` is private to the running decode, so growing it in place is safe and keeps long lists linear. */
function append<Item>(current: readonly Item[], item: Item): readonly Item[] {
  (current as Item[]).push(item);
  return current;
}
