import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { framed } from "./client.ts";
import { aRecord, type DnsMessage, decodeMessage, encodeMessage } from "./message.ts";

export interface UpstreamQuery {
  readonly transport: "udp" | "tcp";
  readonly message: DnsMessage;
  readonly bytes: Buffer;
  readonly peerPort: number;
  readonly peerAddress: string;
}

/** The bytes to send back, several datagrams, or nothing at all. */
export type UpstreamHandler = (query: UpstreamQuery) => Buffer | readonly Buffer[] | undefined;

export interface DnsUpstream extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Everything that was asked, in order. */
  readonly queries: UpstreamQuery[];
  /** Changes what later queries get. */
  handle: UpstreamHandler;
  /** A datagram to whoever sent the query, at a time of the test's choosing. */
  send(bytes: Buffer, query: UpstreamQuery): void;
}

/** A nameserver on UDP and TCP that answers what the test says. Several can share a port on different loopback addresses. */
export async function startDnsUpstream(handle: UpstreamHandler, host = "127.0.0.1", port = 0): Promise<DnsUpstream> {
  const udp = createSocket(host.includes(":") ? "udp6" : "udp4");
  udp.bind(port, host);
  await once(udp, "listening").catch((failure) => {
    udp.close();
    throw failure;
  });
  const chosen = udp.address().port;
  const connections = new Set<Socket>();
  const tcp = createServer();
  const upstream: DnsUpstream = {
    host,
    port: chosen,
    queries: [],
    handle,
    send: (bytes, query) => udp.send(bytes, query.peerPort, query.peerAddress),
    async [Symbol.asyncDispose]() {
      if (!tcp.listening) return;
      udp.close();
      tcp.close();
      for (const connection of connections) connection.destroy();
      await once(tcp, "close");
    },
  };
  const replies = (received: Omit<UpstreamQuery, "message">): readonly Buffer[] => {
    const message = decodedOrNothing(received.bytes);
    if (message === undefined) return [];
    const query = { ...received, message };
    upstream.queries.push(query);
    const reply = upstream.handle(query);
    return reply === undefined ? [] : Buffer.isBuffer(reply) ? [reply] : reply;
  };
  udp.on("message", (bytes, peer) => {
    for (const reply of replies({ transport: "udp", bytes, peerPort: peer.port, peerAddress: peer.address }))
      udp.send(reply, peer.port, peer.address);
  });
  tcp.on("connection", (connection) => {
    connections.add(connection);
    connection.on("close", () => connections.delete(connection));
    connection.on("error", () => undefined);
    connection.on("data", (chunk) => {
      const { remotePort: peerPort = 0, remoteAddress: peerAddress = "" } = connection;
      const query = { transport: "tcp" as const, bytes: chunk.subarray(2), peerPort, peerAddress };
      for (const reply of replies(query)) connection.write(framed(reply));
    });
  });
  try {
    tcp.listen(chosen, host);
    await once(tcp, "listening");
  } catch (failure) {
    udp.close();
    // Somebody holds the TCP side of the port the kernel chose for UDP.
    if (port === 0) return startDnsUpstream(handle, host);
    throw failure;
  }
  return upstream;
}

/** Like other servers, this one does not answer what it cannot read. */
function decodedOrNothing(bytes: Buffer): DnsMessage | undefined {
  try {
    return decodeMessage(bytes);
  } catch {
    return undefined;
  }
}

/** A reply with the query's id and question. */
export function replyTo(
  { message }: UpstreamQuery,
  more: Parameters<typeof encodeMessage>[0] = {},
  compress = true,
): Buffer {
  const { id, questions } = message;
  return encodeMessage({ id, questions, ...more, flags: ["qr", "rd", "ra", ...(more.flags ?? [])] }, compress);
}

const GIANT_OWNER = "aaaaaaaaaaaa.aaaaaa.";

/** The server the proxy's table tests forward to: one public name, two very large answers, and no others. */
export const publicNames: UpstreamHandler = (query) => {
  const [question] = query.message.questions;
  const all = Array.from({ length: 64 }, (_, index) => aRecord(GIANT_OWNER, `240.0.0.${index}`));
  if (question?.name === "www.bing.com.") return replyTo(query, { answers: [aRecord("www.bing.com.", "1.1.1.1")] });
  if (question?.name === "giant.") return replyTo(query, { answers: all });
  if (question?.name === "giant-tc.") return replyTo(query, { answers: all.slice(0, 29), flags: ["tc"] });
  return replyTo(query, { rcode: 3 });
};
