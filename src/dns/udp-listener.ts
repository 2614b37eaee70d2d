import { createSocket, type Socket, type SocketOptions } from "node:dgram";
import type { Logger } from "../base/logger.ts";
import { type HostPort, joinHostPort } from "../net/host-port.ts";
import { isIPv6 } from "../net/ip.ts";
import { MAX_MESSAGE_BYTES, MIN_UDP_BYTES } from "../protocol/dns/constants.ts";
import { listenError } from "./errors.ts";
import { LATER, type QueryHandler } from "./query-handler.ts";

export interface UdpListener {
  readonly address: HostPort;
  stop(): Promise<void>;
}

/** Room for a burst of queries while JavaScript runs; the kernel gives less where it is configured so. */
const RECEIVE_BUFFER_BYTES = 1 << 20;

/** Who else may bind the port: no other socket, threads that join later, or it is one of those. */
export type PortUse = "alone" | "shared" | "join";

/** Binds and starts answering. `address.host` is an IP address. */
export async function startUdpListener(
  address: HostPort,
  handler: QueryHandler,
  log: Logger,
  use: PortUse = "alone",
): Promise<UdpListener> {
  const socket = await (use === "shared" ? bindShared(address) : bindUdp(address, use === "join"));
  // Written again for every reply. `send` hands the bytes to the kernel before the next message is delivered, unless the kernel's buffer
  // is full: then they are queued in place, and the next reply needs other memory.
  let out = Buffer.alloc(MAX_MESSAGE_BYTES);
  // Replies have few different lengths: making a view of each only once saves a tenth of the CPU time of a hit (bench/dns.bench.ts).
  let views: (Buffer | undefined)[] = new Array(MIN_UDP_BYTES + 1).fill(undefined);
  socket.on("message", (message, peer) => {
    // Port 0 cannot be answered: only forged packets come from there, and `send` would throw.
    if (peer.port === 0) return;
    if (socket.getSendQueueCount() > 0) {
      out = Buffer.alloc(MAX_MESSAGE_BYTES);
      views = new Array(MIN_UDP_BYTES + 1).fill(undefined);
    }
    const length = handler.answer(message, out, "udp");
    if (length > 0) socket.send(viewOf(views, out, length), peer.port, peer.address);
    else if (length === LATER) void sendLater(socket, handler.answerLater(message, "udp", peer.port), peer);
  });
  // Errors of single datagrams (a client whose port is gone) arrive here too; the socket stays usable.
  socket.on("error", (failure) => log.debug("UDP socket error", { error: failure.message }));
  return {
    address: { host: address.host, port: socket.address().port },
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function viewOf(views: (Buffer | undefined)[], out: Buffer, length: number): Buffer {
  const known = views[length];
  if (known !== undefined) return known;
  const view = out.subarray(0, length);
  // Rare lengths of large answers are not worth keeping.
  if (length <= MIN_UDP_BYTES) views[length] = view;
  return view;
}

async function sendLater(socket: Socket, reply: Promise<Buffer>, peer: HostPortOfPeer): Promise<void> {
  const bytes = await reply;
  try {
    socket.send(bytes, peer.port, peer.address);
  } catch {
    // The server was stopped meanwhile.
  }
}

type HostPortOfPeer = { readonly address: string; readonly port: number };

/** A shared port lets in a second agent without a word. Asking for it alone first shows whether another process has it. */
async function bindShared(address: HostPort): Promise<Socket> {
  const alone = await bindUdp(address, false);
  const { port } = alone.address();
  await new Promise<void>((closed) => void alone.close(closed));
  return bindUdp({ host: address.host, port }, true);
}

function bindUdp(address: HostPort, reusePort: boolean): Promise<Socket> {
  const isV6 = isIPv6(address.host);
  const family = isV6 ? 6 : 4;
  const options: SocketOptions & { readonly reusePort: boolean } = {
    type: isV6 ? "udp6" : "udp4",
    ipv6Only: isV6,
    reusePort,
    recvBufferSize: RECEIVE_BUFFER_BYTES,
    // All addresses here are literal. The default asks the resolver for each reply, which costs a turn of the event loop.
    lookup: (host, _options, found) => found(null, host, family),
  };
  const socket = createSocket(options);
  return new Promise((resolve, reject) => {
    socket.once("error", (cause) => {
      socket.close();
      reject(listenError("udp", joinHostPort(address.host, address.port), cause));
    });
    socket.bind({ address: address.host, port: address.port, exclusive: true }, () => {
      socket.removeAllListeners("error");
      resolve(socket);
    });
  });
}
