import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { framed } from "./dns-client.ts";
import { aRecord, type DnsMessage, decodeMessage, encodeMessage } from "./dns-message.ts";

export interface UpstreamQuery {
  readonly transport: "udp" | "tcp";
  readonly message: DnsMessage;
  readonly bytes: Buffer;
  readonly peerPort: number;
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
}

/** A nameserver on UDP and TCP that answers what the test says. Several can share a port on different loopback addresses. */
export async function startDnsUpstream(handle: UpstreamHandler, host = "127.0.0.1", port = 0): Promise<DnsUpstream> {
  const udp = createSocket(host.includes(":") ? "udp6" : "udp4");
  udp.bind(port, host);
  await once(udp, "listening");
  const chosen = udp.address().port;
  const connections = new Set<Socket>();
  const tcp = createServer();
  const upstream: DnsUpstream = {
    host,
    port: chosen,
    queries: [],
    handle,
    async [Symbol.asyncDispose]() {
      udp.close();
      tcp.close();
      for (const connection of connections) connection.destroy();
      if (tcp.listening) await once(tcp, "close");
    },
  };
  const replies = (transport: "udp" | "tcp", bytes: Buffer, peerPort: number): readonly Buffer[] => {
    const query = { transport, bytes, peerPort, message: decodeMessage(bytes) };
    upstream.queries.push(query);
    const reply = upstream.handle(query);
    return reply === undefined ? [] : Buffer.isBuffer(reply) ? [reply] : reply;
  };
  udp.on("message", (bytes, peer) => {
    for (const reply of replies("udp", bytes, peer.port)) udp.send(reply, peer.port, peer.address);
  });
  tcp.on("connection", (connection) => {
    connections.add(connection);
    connection.on("close", () => connections.delete(connection));
    connection.on("error", () => undefined);
    connection.on("data", (chunk) => {
      for (const reply of replies("tcp", chunk.subarray(2), connection.remotePort ?? 0))
        connection.write(framed(reply));
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
