import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type DnsMessage, decodeMessage, encodeMessage, optRecord } from "./message.ts";

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

export interface Ask {
  readonly name: string;
  readonly type?: number;
  readonly class?: number;
  readonly id?: number;
  /** UDP size announced by an OPT record; none when absent. */
  readonly edns?: number;
  readonly timeoutMs?: number;
}

/** The bytes of a query as a resolver sends it. */
export function queryBytes({ name, type = 1, class: klass = 1, id = 4711, edns }: Ask): Buffer {
  const additionals = edns === undefined ? [] : [optRecord(edns)];
  return encodeMessage({ id, flags: ["rd"], questions: [{ name, type, class: klass }], additionals });
}

export async function ask(transport: "udp" | "tcp", server: ServerAddress, question: Ask): Promise<DnsMessage> {
  const bytes = queryBytes(question);
  const send = transport === "udp" ? exchangeUdp : exchangeTcp;
  return decodeMessage(await send(server, bytes, question.timeoutMs));
}

/** One datagram there, one back. Rejects when none comes in time. */
export async function exchangeUdp(server: ServerAddress, bytes: Buffer, timeoutMs = 10_000): Promise<Buffer> {
  const socket = createSocket(server.host.includes(":") ? "udp6" : "udp4");
  try {
    socket.send(bytes, server.port, server.host);
    const [reply] = await once(socket, "message", { signal: AbortSignal.timeout(timeoutMs) });
    return reply;
  } finally {
    socket.close();
  }
}

export async function exchangeTcp(server: ServerAddress, bytes: Buffer, timeoutMs = 10_000): Promise<Buffer> {
  const socket = await connectTcp(server);
  try {
    socket.write(framed(bytes));
    const [reply = Buffer.alloc(0)] = await readFrames(socket, 1, timeoutMs);
    return reply;
  } finally {
    socket.destroy();
  }
}

export async function connectTcp(server: ServerAddress): Promise<Socket> {
  const socket = connect(server.port, server.host);
  await once(socket, "connect");
  return socket;
}

export function framed(bytes: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** The next `count` messages of a connection, in the order they come. Rejects when it closes before, or in time. */
export async function readFrames(socket: Socket, count: number, timeoutMs = 10_000): Promise<Buffer[]> {
  const frames: Buffer[] = [];
  let received = Buffer.alloc(0);
  const signal = AbortSignal.timeout(timeoutMs);
  const closed = once(socket, "close", { signal }).then(() => {
    throw new Error(`connection closed after ${frames.length} of ${count} messages`);
  });
  closed.catch(() => undefined);
  while (frames.length < count) {
    const [chunk] = await Promise.race([once(socket, "data", { signal }), closed]);
    received = Buffer.concat([received, chunk as Buffer]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const end = 2 + received.readUInt16BE(0);
      frames.push(received.subarray(2, end));
      received = received.subarray(end);
    }
  }
  return frames;
}
