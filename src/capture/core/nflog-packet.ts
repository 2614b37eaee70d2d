import { formatIp } from "../../net/ip.ts";

/** What one NFLOG message says about a packet; labels as they are logged. */
export interface NflogPacket {
  readonly command: string;
  readonly uid: string;
  readonly gid: string;
  readonly inDev: string;
  readonly outDev: string;
  readonly src: string;
  readonly dst: string;
}

/** Attribute numbers of nfnetlink_log. */
const INDEV = 4;
const OUTDEV = 5;
const PAYLOAD = 9;
const PREFIX = 10;
const UID = 11;
const GID = 14;
const HEADER_BYTES = 4;

/** A capture record of link type NFLOG: family, version, group, then attributes. Undefined when it is too short to be one. */
export function decodeNflog(record: Buffer): NflogPacket | undefined {
  if (record.length < HEADER_BYTES) return undefined;
  const attributes = readAttributes(record);
  const number = (type: number) => {
    const value = attributes.get(type);
    return value === undefined || value.length < 4 ? "" : String(value.readUInt32BE(0));
  };
  const prefix = attributes.get(PREFIX)?.toString("utf8").replace(/\0+$/, "") ?? "";
  const { src, dst } = readAddresses(attributes.get(PAYLOAD) ?? Buffer.alloc(0));
  return {
    command: prefix,
    uid: number(UID),
    gid: number(GID),
    inDev: number(INDEV),
    outDev: number(OUTDEV),
    src,
    dst,
  };
}

/** Attribute headers are in the byte order of the machine that captured, which is ours. */
function readAttributes(record: Buffer): ReadonlyMap<number, Buffer> {
  const attributes = new Map<number, Buffer>();
  for (let at = HEADER_BYTES; at + 4 <= record.length; ) {
    const length = record.readUInt16LE(at);
    const type = record.readUInt16LE(at + 2) & 0x7fff;
    if (length < 4) break;
    attributes.set(type, record.subarray(at + 4, Math.min(record.length, at + length)));
    at += (length + 3) & ~3;
  }
  return attributes;
}

/** Rules copy 20 bytes: all of an IPv4 header, but of IPv6 only the source. */
function readAddresses(payload: Buffer): { readonly src: string; readonly dst: string } {
  const version = (payload[0] ?? 0) >>> 4;
  if (version === 4 && payload.length >= 20) {
    const word = (at: number) => formatIp({ family: 4, words: [payload.readUInt32BE(at)] });
    return { src: word(12), dst: word(16) };
  }
  const words = (at: number) => {
    if (version !== 6 || payload.length < at + 16) return "";
    return formatIp({ family: 6, words: [0, 4, 8, 12].map((offset) => payload.readUInt32BE(at + offset)) });
  };
  return { src: words(8), dst: words(24) };
}

/** Splits a capture stream into records; what is incomplete waits for more bytes. */
export function createPcapReader(onRecord: (record: Buffer) => void): (chunk: Buffer) => void {
  let pending = Buffer.alloc(0);
  let isStarted = false;
  return (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    if (!isStarted) {
      if (pending.length < 24) return;
      pending = pending.subarray(24);
      isStarted = true;
    }
    while (pending.length >= 16) {
      const length = pending.readUInt32LE(8);
      if (pending.length < 16 + length) return;
      onRecord(pending.subarray(16, 16 + length));
      pending = pending.subarray(16 + length);
    }
  };
}
