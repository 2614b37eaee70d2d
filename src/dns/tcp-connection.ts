import type { Socket } from "node:net";
import type { DnsLimits } from "./options.ts";

/** Replies that wait for a client which does not read; more are not made before it does. */
const MAX_UNSENT_BYTES = 256 * 1024;

/**
 * Serves the queries of one connection: pipelined ones at the same time, each answered as soon as its reply is known. The time for a query
 * runs until it is complete, so that a byte now and then does not hold the connection.
 */
export function serveTcpConnection(
  socket: Socket,
  limits: DnsLimits,
  answer: (message: Buffer) => Buffer | Promise<Buffer> | undefined,
): void {
  let received = Buffer.alloc(0);
  let queries = 0;
  let waiting = 0;
  let clientEnded = false;

  const expire = () => {
    // A reply that upstream still owes is not the client's fault.
    if (waiting > 0) restartTimer();
    else socket.destroy();
  };
  let timer = setTimeout(expire, limits.tcpFirstMs);
  const restartTimer = () => {
    clearTimeout(timer);
    timer = setTimeout(expire, limits.tcpIdleMs);
  };

  const isBusy = () => waiting >= limits.maxTcpPipelined || socket.writableLength > MAX_UNSENT_BYTES;
  const advance = () => {
    while (!socket.destroyed && !isBusy() && queries < limits.maxTcpQueries) {
      const message = nextMessage();
      if (message === undefined) break;
      queries++;
      restartTimer();
      const reply = answer(message);
      if (reply instanceof Promise) void sendLater(reply);
      else if (reply !== undefined) send(reply);
    }
    const isLast = clientEnded || queries >= limits.maxTcpQueries;
    if (isLast && waiting === 0) socket.end();
    if (isBusy() || queries >= limits.maxTcpQueries) socket.pause();
    else socket.resume();
  };
  const nextMessage = (): Buffer | undefined => {
    if (received.length < 2) return undefined;
    const end = 2 + received.readUInt16BE(0);
    if (received.length < end) return undefined;
    const message = received.subarray(2, end);
    received = received.subarray(end);
    return message;
  };
  const send = (reply: Buffer) => {
    if (socket.destroyed) return;
    const frame = Buffer.allocUnsafe(2 + reply.length);
    frame.writeUInt16BE(reply.length, 0);
    reply.copy(frame, 2);
    socket.write(frame);
  };
  const sendLater = async (reply: Promise<Buffer>) => {
    waiting++;
    send(await reply);
    waiting--;
    if (!socket.destroyed) advance();
  };

  socket.on("data", (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    advance();
  });
  socket.on("drain", advance);
  // A client that closes its half still gets the replies it waits for.
  socket.on("end", () => {
    clientEnded = true;
    advance();
  });
  socket.on("error", () => socket.destroy());
  socket.on("close", () => clearTimeout(timer));
}
