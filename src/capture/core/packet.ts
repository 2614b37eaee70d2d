import { joinHostPort } from "../../net/host-port.ts";
import { formatIp, type IpAddress, parseIp } from "../../net/ip.ts";

/** One packet at the moment it enters or is sent; what is undefined does not match any condition on it. */
export interface Packet {
  readonly protocol: "tcp" | "udp" | "icmp";
  readonly source: IpAddress;
  readonly sourcePort: number;
  readonly destination: IpAddress;
  readonly destinationPort: number;
  readonly direction: "inbound" | "outbound";
  /** Interface it comes from or leaves by. */
  readonly device: string;
  /** Owner of the sending socket; absent for packets that no socket sends. */
  readonly uid?: number;
  readonly gid?: number;
  readonly mark: number;
  readonly state: "NEW" | "ESTABLISHED" | "RELATED" | "INVALID";
}

export class PacketSyntaxError extends Error {}

const SYNTAX = "PROTOCOL SOURCE[:PORT] -> DESTINATION[:PORT] [uid N] [gid N] [in IF | out IF] [mark N] [state NEW]";
const STATES = ["NEW", "ESTABLISHED", "RELATED", "INVALID"] as const;
const EPHEMERAL_PORT = 40000;

/** `tcp 10.0.0.5:40000 -> 10.1.2.3:443 uid 1000`; IPv6 addresses with a port stand in brackets. */
export function parsePacket(text: string, isLocal: (address: IpAddress) => boolean): Packet {
  const [protocol = "", from = "", arrow, to = "", ...rest] = text.trim().split(/\s+/);
  if (protocol !== "tcp" && protocol !== "udp" && protocol !== "icmp") {
    throw refuse(text, `protocol "${protocol}" is none of tcp, udp, icmp`);
  }
  if (arrow !== "->") throw refuse(text, "the second address must follow ->");
  const source = parseEnd(text, from);
  const destination = parseEnd(text, to);
  if (source.address.family !== destination.address.family)
    throw refuse(text, "the addresses are of different IP versions");
  if (protocol !== "icmp" && destination.port === undefined) throw refuse(text, "the destination needs a port");
  const words = readWords(text, rest);
  const number = (name: string) => (words.has(name) ? toNumber(text, name, words.get(name) ?? "") : undefined);
  const [uid, gid] = [number("uid"), number("gid")];
  const isOutbound =
    words.has("out") || (!words.has("in") && (uid !== undefined || gid !== undefined || isLocal(source.address)));
  const state = STATES.find((known) => known === (words.get("state") ?? "new").toUpperCase());
  if (state === undefined) throw refuse(text, `state is none of ${STATES.join(", ")}`);
  const device = words.get("in") ?? words.get("out");
  return {
    protocol,
    source: source.address,
    sourcePort: source.port ?? EPHEMERAL_PORT,
    destination: destination.address,
    destinationPort: destination.port ?? 0,
    direction: isOutbound ? "outbound" : "inbound",
    device: device ?? (isOutbound && isLocal(destination.address) ? "lo" : "eth0"),
    // Who sends is known for local packets: without a word it is an application that is not exempt.
    ...(isOutbound ? { uid: uid ?? 1000, gid: gid ?? uid ?? 1000 } : {}),
    mark: number("mark") ?? 0,
    state,
  };
}

export function formatPacket(packet: Packet): string {
  const end = (address: IpAddress, port: number) => {
    const written = formatIp(address);
    if (packet.protocol === "icmp") return written;
    return joinHostPort(written, port);
  };
  const owner =
    packet.uid === undefined ? "" : ` uid ${packet.uid}${packet.gid === packet.uid ? "" : ` gid ${packet.gid}`}`;
  const way = packet.direction === "inbound" ? "in" : "out";
  return (
    `${packet.protocol} ${end(packet.source, packet.sourcePort)} -> ` +
    `${end(packet.destination, packet.destinationPort)}${owner} ${way} ${packet.device}`
  );
}

function parseEnd(text: string, end: string): { readonly address: IpAddress; readonly port: number | undefined } {
  const [, bracketed, bracketPort, plain, plainPort] = /^(?:\[(.+)\](?::(\d+))?|([\d.]+)(?::(\d+))?)$/.exec(end) ?? [];
  const address = parseIp(bracketed ?? plain ?? end);
  if (address === undefined || address.zone !== undefined) throw refuse(text, `"${end}" is not an address`);
  const portText = bracketPort ?? plainPort;
  const port = portText === undefined ? undefined : Number(portText);
  if (port !== undefined && port > 65535) throw refuse(text, `port ${port} is above 65535`);
  return { address, port };
}

function readWords(text: string, rest: readonly string[]): ReadonlyMap<string, string> {
  const words = new Map<string, string>();
  for (let index = 0; index < rest.length; index += 2) {
    const [name = "", value] = rest.slice(index, index + 2);
    if (!["uid", "gid", "in", "out", "mark", "state"].includes(name)) throw refuse(text, `unknown word "${name}"`);
    if (value === undefined) throw refuse(text, `"${name}" needs a value`);
    words.set(name, value);
  }
  return words;
}

function toNumber(text: string, name: string, value: string): number {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 0 || number > 0xffffffff)
    throw refuse(text, `${name} "${value}" is not a number`);
  return number;
}

function refuse(text: string, reason: string): PacketSyntaxError {
  return new PacketSyntaxError(`cannot read packet ${JSON.stringify(text)}: ${reason}; expected ${SYNTAX}`);
}
