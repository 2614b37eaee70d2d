import type { Duplex } from "node:stream";
import { parseIp } from "../ip.ts";

export interface SocksTarget {
  readonly host: string;
  readonly port: number;
  readonly login: { readonly user: string; readonly password: string } | undefined;
}

const VERSION = 5;
const LOGIN_VERSION = 1;
const METHOD = { none: 0, login: 2, refused: 0xff } as const;
const CONNECT = 1;
const ADDRESS = { ipv4: 1, name: 3, ipv6: 4 } as const;
const MAX_NAME_BYTES = 255;
const PORT_BYTES = 2;
/** RFC 1928 section 6, from 1 on. */
const REPLIES = [
  "general SOCKS server failure",
  "connection not allowed by ruleset",
  "network unreachable",
  "host unreachable",
  "connection refused",
  "TTL expired",
  "command not supported",
  "address type not supported",
] as const;

/**
 * Makes a connection to a SOCKS 5 proxy (RFC 1928, login of RFC 1929) a byte stream to the target. Resolves with the reason when the proxy
 * refuses; rejects when the connection ends or the proxy speaks something else. The caller owns the socket.
 */
export async function openSocks5(socket: Duplex, { host, port, login }: SocksTarget): Promise<string | undefined> {
  const methods = login === undefined ? [METHOD.none] : [METHOD.none, METHOD.login];
  socket.write(Buffer.from([VERSION, methods.length, ...methods]));
  const [version, method] = await readExactly(socket, 2);
  if (version !== VERSION) throw new Error(`it speaks version ${version} of SOCKS, not 5`);
  if (method === METHOD.login && login !== undefined) {
    socket.write(Buffer.from([LOGIN_VERSION, ...sized(login.user), ...sized(login.password)]));
    const [, status] = await readExactly(socket, 2);
    if (status !== 0) return "user or password is wrong";
  } else if (method !== METHOD.none) {
    return method === METHOD.refused || method === METHOD.login
      ? `it wants a login${login === undefined ? "" : " of another kind than user and password"}`
      : `it chose the login method ${method}, which was not offered`;
  }
  socket.write(Buffer.from([VERSION, CONNECT, 0, ...encodeHost(host), port >> 8, port & 0xff]));
  const [, reply = 0, , type] = await readExactly(socket, 4);
  if (reply !== 0) return REPLIES[reply - 1] ?? `reply ${reply}`;
  await readExactly(socket, (await boundAddressBytes(socket, type)) + PORT_BYTES);
  return undefined;
}

/** Of the address that the proxy connects from; nothing here needs it. */
async function boundAddressBytes(socket: Duplex, type: number | undefined): Promise<number> {
  if (type === ADDRESS.ipv4) return 4;
  if (type === ADDRESS.ipv6) return 16;
  if (type === ADDRESS.name) return (await readExactly(socket, 1))[0] ?? 0;
  throw new Error(`its reply has an address of type ${type}`);
}

function encodeHost(host: string): number[] {
  const ip = parseIp(host);
  if (ip !== undefined) {
    const bytes = ip.words.flatMap((word) => [word >>> 24, (word >>> 16) & 0xff, (word >>> 8) & 0xff, word & 0xff]);
    return [ip.family === 4 ? ADDRESS.ipv4 : ADDRESS.ipv6, ...bytes];
  }
  if (Buffer.byteLength(host) > MAX_NAME_BYTES) throw new Error(`the name has more than ${MAX_NAME_BYTES} bytes`);
  return [ADDRESS.name, ...sized(host)];
}

function sized(text: string): number[] {
  const bytes = Buffer.from(text);
  return [bytes.length, ...bytes];
}

/** What comes after these bytes stays in the stream. */
function readExactly(socket: Duplex, bytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const settle = () =>
      socket.off("readable", onReadable).off("error", onError).off("close", onClose).off("end", onClose);
    const onReadable = () => {
      const read = socket.read(bytes) as Buffer | null;
      if (read === null) return;
      settle();
      if (read.length < bytes) reject(ended());
      else resolve(read);
    };
    const onError = (failure: Error) => {
      settle();
      reject(failure);
    };
    const onClose = () => onError(ended());
    socket.on("readable", onReadable).once("error", onError).once("close", onClose).once("end", onClose);
    onReadable();
  });
}

function ended(): Error {
  return new Error("the connection was closed before its answer");
}
