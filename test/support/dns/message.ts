/** A whole DNS message in readable form; what tests send and compare. The product itself never decodes this much. */
export interface DnsMessage {
  readonly id: number;
  readonly opcode: number;
  readonly rcode: number;
  readonly flags: readonly DnsFlag[];
  readonly questions: readonly DnsQuestion[];
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

export interface DnsQuestion {
  readonly name: string;
  readonly type: number;
  readonly class: number;
}

export interface DnsRecord {
  readonly name: string;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly data: Buffer;
  /** The data as text, where its form is known: addresses and names. */
  readonly text: string;
}

const FLAGS = {
  qr: 0x8000,
  aa: 0x0400,
  tc: 0x0200,
  rd: 0x0100,
  ra: 0x0080,
  z: 0x0040,
  ad: 0x0020,
  cd: 0x0010,
} as const;
export type DnsFlag = keyof typeof FLAGS;

const NAME_TYPES = new Set([2, 5, 12]);

/** Throws for anything that is no complete message. */
export function decodeMessage(bytes: Buffer): DnsMessage {
  const word = bytes.readUInt16BE(2);
  let at = 12;
  const questions = Array.from({ length: bytes.readUInt16BE(4) }, () => {
    const { name, end } = decodeName(bytes, at);
    at = end + 4;
    return { name, type: bytes.readUInt16BE(end), class: bytes.readUInt16BE(end + 2) };
  });
  const section = (offset: number) =>
    Array.from({ length: bytes.readUInt16BE(offset) }, () => {
      const { name, end } = decodeName(bytes, at);
      const type = bytes.readUInt16BE(end);
      const length = bytes.readUInt16BE(end + 8);
      at = end + 10 + length;
      if (at > bytes.length) throw new RangeError("record behind the end of the message");
      const data = bytes.subarray(end + 10, at);
      const text = NAME_TYPES.has(type) ? decodeName(bytes, end + 10).name : addressText(type, data);
      return { name, type, class: bytes.readUInt16BE(end + 2), ttl: bytes.readUInt32BE(end + 4), data, text };
    });
  const [answers, authorities, additionals] = [section(6), section(8), section(10)];
  const flags = (Object.keys(FLAGS) as DnsFlag[]).filter((flag) => (word & FLAGS[flag]) !== 0);
  const opcode = (word >> 11) & 0xf;
  return { id: bytes.readUInt16BE(0), opcode, rcode: word & 0xf, flags, questions, answers, authorities, additionals };
}

export interface EncodedMessage {
  readonly id?: number;
  readonly opcode?: number;
  readonly rcode?: number;
  readonly flags?: readonly DnsFlag[];
  readonly questions?: readonly Partial<DnsQuestion>[];
  readonly answers?: readonly EncodedRecord[];
  readonly authorities?: readonly EncodedRecord[];
  readonly additionals?: readonly EncodedRecord[];
}

export interface EncodedRecord {
  readonly name: string;
  readonly type: number;
  readonly class?: number;
  readonly ttl?: number;
  readonly data: Buffer;
}

/** With `compress`, an owner that occurred before becomes a pointer. */
export function encodeMessage(message: EncodedMessage, compress = false): Buffer {
  const { questions = [], answers = [], authorities = [], additionals = [], flags = [] } = message;
  const word = flags.reduce((bits, flag) => bits | FLAGS[flag], ((message.opcode ?? 0) << 11) | (message.rcode ?? 0));
  const header = [message.id ?? 0, word, questions.length, answers.length, authorities.length, additionals.length];
  const parts: Buffer[] = [Buffer.concat(header.map(uint16))];
  let size = 12;
  const push = (part: Buffer) => {
    parts.push(part);
    size += part.length;
  };
  const seen = new Map<string, number>();
  const pushName = (name: string) => {
    const known = seen.get(name);
    if (compress && known !== undefined) return push(uint16(0xc000 | known));
    if (name !== ".") seen.set(name, size);
    push(encodeName(name));
  };
  for (const { name = ".", type = 1, class: klass = 1 } of questions) {
    pushName(name);
    push(Buffer.concat([uint16(type), uint16(klass)]));
  }
  for (const { name, type, class: klass = 1, ttl = 60, data } of [...answers, ...authorities, ...additionals]) {
    pushName(name);
    push(
      Buffer.concat([uint16(type), uint16(klass), uint16(ttl >>> 16), uint16(ttl & 0xffff), uint16(data.length), data]),
    );
  }
  return Buffer.concat(parts);
}

export function encodeName(name: string): Buffer {
  const labels = name.split(".").filter((label) => label !== "");
  return Buffer.concat([...labels.map((label) => Buffer.from([label.length, ...Buffer.from(label)])), Buffer.of(0)]);
}

export function aRecord(name: string, address: string): EncodedRecord {
  return { name, type: 1, data: Buffer.from(address.split(".").map(Number)) };
}

/** An EDNS0 OPT record that announces `udpBytes`. */
export function optRecord(udpBytes: number, ttl = 0, data: Buffer = Buffer.alloc(0)): EncodedRecord {
  return { name: ".", type: 41, class: udpBytes, ttl, data };
}

function decodeName(bytes: Buffer, start: number): { readonly name: string; readonly end: number } {
  let name = "";
  let at = start;
  let end: number | undefined;
  for (let hops = 0; ; ) {
    const length = bytes.readUInt8(at);
    if (length === 0) return { name: name === "" ? "." : name, end: end ?? at + 1 };
    if (length >= 0xc0) {
      end ??= at + 2;
      at = bytes.readUInt16BE(at) & 0x3fff;
      if (++hops > 20) throw new RangeError("compression loop");
      continue;
    }
    if (length > 63 || at + 1 + length > bytes.length) throw new RangeError("bad label");
    name += `${bytes.toString("latin1", at + 1, at + 1 + length)}.`;
    at += 1 + length;
  }
}

function addressText(type: number, data: Buffer): string {
  if (type === 1) return [...data].join(".");
  return type === 28 ? data.toString("hex") : "";
}

function uint16(value: number): Buffer {
  return Buffer.of((value >> 8) & 0xff, value & 0xff);
}
