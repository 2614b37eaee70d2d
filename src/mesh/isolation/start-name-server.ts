import { createSocket, type Socket } from "node:dgram";
import { connect } from "node:net";
import { CloseStack } from "../../base/close-stack.ts";
import { silentLogger } from "../../base/logger.ts";
import { MetricRegistry } from "../../base/metric-registry.ts";
import { declareDnsMetrics, startDnsServer } from "../../dns/index.ts";
import type { HostPort } from "../../net/host-port.ts";
import type { NetworkPlan } from "../core/mesh-plan.ts";
import { closeListener, listen } from "../process/free-ports.ts";

const HEADER_BYTES = 12;
const DNS_PORT = 53;
/** The resolver behind gives up before. */
const FORWARD_MS = 8000;
const MESH_DOMAIN = ".cluster.local";

/**
 * Stands behind the agents' DNS: names of the mesh are answered there, and those that come here do not exist. Others are asked at the
 * machine's own servers, or without egress do not exist either: without an answer every lookup would take seconds.
 */
export async function startNameServer(
  { hostAddress }: Pick<NetworkPlan, "hostAddress">,
  hasEgress: boolean,
  /** Tests have servers of their own. */
  resolver: { readonly resolvConfPath?: string; readonly upstreamPort?: number; readonly port?: number } = {},
): Promise<{ stop(): Promise<void> }> {
  await using opened = new CloseStack();
  const port = resolver.port ?? DNS_PORT;
  const behind = hasEgress ? opened.add(await startResolver(resolver)) : undefined;
  const upstream = behind?.addresses[0];
  const socket = createSocket("udp4");
  opened.defer(() => new Promise<void>((closed) => socket.close(() => closed())));
  socket.on("message", (query, { address, port: from }) => {
    const reply = (answer: Buffer) => socket.send(answer, from, address, () => undefined);
    const name = questionName(query);
    if (name === undefined) return;
    if (upstream !== undefined && !`.${name}`.endsWith(MESH_DOMAIN)) return forward(query, upstream, reply);
    const answer = nameError(query);
    if (answer !== undefined) reply(answer);
  });
  await bind(socket, port, hostAddress);
  if (upstream !== undefined) {
    // Answers that do not fit into a datagram.
    const server = await listen(port, hostAddress);
    opened.defer(() => closeListener(server));
    server.on("connection", (client) => {
      const other = connect(Number(upstream.port), upstream.host);
      for (const each of [client, other]) {
        each.on("error", () => undefined);
        each.on("close", () => [client, other].forEach((end) => void end.destroy()));
      }
      client.pipe(other).pipe(client);
    });
  }
  const owned = opened.move();
  return { stop: () => owned.close() };
}

function startResolver(options: { readonly resolvConfPath?: string; readonly upstreamPort?: number }) {
  const { port: _, ...given } = { port: 0, ...options };
  return startDnsServer({
    listen: "127.0.0.1:0",
    proxyNamespace: "",
    proxyDomain: "",
    forwardsBeforeSync: true,
    log: silentLogger,
    metrics: declareDnsMetrics(new MetricRegistry()),
    ...given,
  });
}

/** With a socket each: answers of others are not taken for this one's. */
function forward(query: Buffer, to: HostPort, reply: (answer: Buffer) => void): void {
  const socket = createSocket("udp4");
  const timer = setTimeout(() => socket.close(), FORWARD_MS);
  timer.unref();
  socket.unref();
  socket.on("error", () => undefined);
  socket.on("close", () => clearTimeout(timer));
  socket.once("message", (answer) => {
    reply(answer);
    socket.close();
  });
  socket.send(query, Number(to.port), to.host, () => undefined);
}

async function bind(socket: Socket, port: number, host: string): Promise<void> {
  await new Promise<void>((ready, failed) => {
    socket.once("error", failed);
    socket.bind(port, host, ready);
  });
  socket.on("error", () => undefined);
}

/** In lower case; undefined for what is no query with one question. */
function questionName(query: Buffer): string | undefined {
  if (query.length <= HEADER_BYTES || query.readUInt8(2) >= 0x80 || query.readUInt16BE(4) !== 1) return undefined;
  const labels: string[] = [];
  for (let at = HEADER_BYTES; at < query.length; ) {
    const length = query.readUInt8(at);
    if (length === 0) return labels.join(".");
    labels.push(query.toString("latin1", at + 1, at + 1 + length).toLowerCase());
    at += length + 1;
  }
  return undefined;
}

/** "There is no such name", to a query with one question; undefined for what is no query. */
export function nameError(query: Buffer): Buffer | undefined {
  if (query.length <= HEADER_BYTES || query.readUInt8(2) >= 0x80 || query.readUInt16BE(4) !== 1) return undefined;
  let end = HEADER_BYTES;
  while (end < query.length && query.readUInt8(end) !== 0) end += query.readUInt8(end) + 1;
  // The zero of the root, type and class.
  end += 5;
  if (end > query.length) return undefined;
  const answer = Buffer.from(query.subarray(0, end));
  // A response that recursion was asked of; RCODE 3. Records that stood behind the question are gone.
  answer.writeUInt8(0x80 | (query.readUInt8(2) & 0x79), 2);
  answer.writeUInt8(0x83, 3);
  answer.fill(0, 6, HEADER_BYTES);
  return answer;
}
