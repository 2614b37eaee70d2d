import { connect as connectSocket, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** HTTP/2 bytes by hand, for what no client library sends. */
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
/** END_STREAM and END_HEADERS. */
export const WHOLE_HEADERS = 5;
export const END_HEADERS = 4;
/** `:method POST`, `:scheme http`, `:path`, `:authority` and a gRPC content type. */
export function grpcHeaderBlock(path: string): Buffer {
  const literal = (nameIndex: number, value: string) =>
    Buffer.concat([
      Buffer.from([Math.min(nameIndex, 15), ...(nameIndex < 15 ? [] : [nameIndex - 15]), value.length]),
      Buffer.from(value),
    ]);
  const [authority, pathName, contentType] = [1, 4, 31];
  return Buffer.concat([
    Buffer.from([0x83, 0x86]),
    literal(pathName, path),
    literal(authority, "a"),
    literal(contentType, "application/grpc"),
  ]);
}

export function rawFrame(type: number, given: { flags?: number; stream?: number; payload?: Buffer } = {}): Buffer {
  const { flags = 0, stream = 0, payload = Buffer.alloc(0) } = given;
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export interface RawConnection extends Disposable {
  readonly socket: Socket;
  /** Of the first GOAWAY frame; undefined before there is one. */
  goaway(): { readonly code: number; readonly text: string } | undefined;
  readonly closed: Promise<void>;
}

/** Where a server listens, and whether it speaks TLS. */
export type RawTarget = ({ readonly path: string } | { readonly port: number }) & { readonly tls?: boolean };

export function openRaw(target: RawTarget, bytes: Buffer): RawConnection {
  const { tls = false, ...address } = target;
  const socket = tls
    ? connectTls({ ...address, rejectUnauthorized: false, ALPNProtocols: ["h2"] })
    : connectSocket("path" in address ? { path: address.path } : { port: address.port, host: "127.0.0.1" });
  let received = Buffer.alloc(0);
  socket.on("error", () => undefined);
  socket.on("data", (chunk) => {
    received = Buffer.concat([received, chunk]);
  });
  const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  socket.write(bytes);
  return {
    socket,
    closed,
    goaway: () => findGoaway(received),
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

function findGoaway(bytes: Buffer): { readonly code: number; readonly text: string } | undefined {
  for (let at = 0; at + 9 <= bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    if (bytes[at + 3] === FRAME.goaway && end <= bytes.length) {
      return { code: bytes.readUInt32BE(at + 13), text: bytes.toString("latin1", at + 17, end) };
    }
    at = end;
  }
  return undefined;
}
