import { createSocket, type Socket } from "node:dgram";
import { answersQuery } from "../protocol/dns/reply-check.ts";
import { DnsError, systemWords } from "./errors.ts";
import type { PortOwners } from "./port-owners.ts";
import { createTransactionIds, type UpstreamDone, type UpstreamTransport } from "./upstream.ts";

/** A source port is given up after this time, however few queries used it. */
const SOCKET_LIFE_MS = 5_000;

interface PendingQuery {
  readonly sent: Buffer;
  readonly done: UpstreamDone;
}

interface Lane {
  readonly server: string;
  readonly socket: Socket;
  readonly pending: Map<number, PendingQuery>;
  /** Queries that wait for the socket to be connected; undefined afterwards. */
  queue: Buffer[] | undefined;
  /** 0 until the socket is connected. */
  localPort: number;
  used: number;
  retired: boolean;
  readonly expiry: NodeJS.Timeout;
}

/**
 * Asks over UDP from connected sockets on ports the kernel picks at random. A port serves a few dozen queries and is then given up, which
 * keeps it unknown to whoever would plant answers and costs far less than a socket per query. Replies that do not repeat the question are
 * passed over: the true one may still come.
 */
export function createUdpUpstream(port: number, queriesPerSocket: number, ports?: PortOwners): UpstreamTransport {
  const nextId = createTransactionIds();
  const current = new Map<string, Lane>();
  const open = new Set<Lane>();

  const laneFor = (server: string): Lane => {
    const lane = current.get(server);
    if (lane !== undefined) return lane;
    const fresh = openLane(server, port, { ports, retire, forget, fail });
    current.set(server, fresh);
    open.add(fresh);
    return fresh;
  };
  const retire = (lane: Lane) => {
    if (current.get(lane.server) === lane) current.delete(lane.server);
    lane.retired = true;
    closeIfUnused(lane);
  };
  const closeIfUnused = (lane: Lane) => {
    if (!lane.retired || lane.pending.size > 0 || !open.delete(lane)) return;
    clearTimeout(lane.expiry);
    ports?.release(lane.localPort);
    lane.socket.close();
  };
  const forget = (lane: Lane, id: number) => {
    if (lane.pending.delete(id)) ports?.settled(id);
  };
  const forgetAll = (lane: Lane) => {
    for (const id of lane.pending.keys()) forget(lane, id);
  };
  const fail = (lane: Lane, cause: Error) => {
    const lost = [...lane.pending.values()];
    forgetAll(lane);
    retire(lane);
    const failure = new DnsError("upstream-failed", `udp ${lane.server}: ${systemWords(cause)}`, { cause });
    for (const query of lost) query.done(failure);
  };

  return {
    query(server, message, done) {
      const lane = laneFor(server);
      let id = nextId();
      while (lane.pending.has(id)) id = nextId();
      const sent = Buffer.from(message);
      sent.writeUInt16BE(id);
      const settle = (outcome: Buffer | Error) => {
        closeIfUnused(lane);
        done(outcome);
      };
      lane.pending.set(id, { sent, done: settle });
      ports?.sent(id);
      lane.used++;
      if (lane.used >= queriesPerSocket) retire(lane);
      if (lane.queue === undefined) lane.socket.send(sent);
      else lane.queue.push(sent);
      return () => {
        if (lane.pending.get(id)?.sent === sent) forget(lane, id);
        closeIfUnused(lane);
      };
    },
    isOwn(localPort, message) {
      for (const lane of open) {
        if (lane.localPort === localPort) return lane.pending.has(message.readUInt16BE(0));
      }
      return ports?.isOfOtherThread(localPort, message.readUInt16BE(0)) ?? false;
    },
    async stop() {
      for (const lane of open) {
        forgetAll(lane);
        retire(lane);
      }
    },
  };
}

interface LaneOwner {
  readonly ports: PortOwners | undefined;
  readonly retire: (lane: Lane) => void;
  readonly forget: (lane: Lane, id: number) => void;
  readonly fail: (lane: Lane, cause: Error) => void;
}

function openLane(server: string, port: number, { ports, retire, forget, fail }: LaneOwner): Lane {
  const socket = createSocket(server.includes(":") ? "udp6" : "udp4");
  const lane: Lane = {
    server,
    socket,
    pending: new Map(),
    queue: [],
    localPort: 0,
    used: 0,
    retired: false,
    expiry: setTimeout(() => retire(lane), SOCKET_LIFE_MS).unref(),
  };
  socket.on("message", (reply) => {
    if (reply.length < 2) return;
    const id = reply.readUInt16BE(0);
    const query = lane.pending.get(id);
    if (query === undefined || !answersQuery(query.sent, reply)) return;
    forget(lane, id);
    query.done(reply);
  });
  // A connected socket learns of closed ports: the next server is asked at once instead of after the timeout.
  socket.on("error", (cause) => fail(lane, cause));
  socket.on("connect", () => {
    const queue = lane.queue ?? [];
    lane.queue = undefined;
    lane.localPort = socket.address().port;
    ports?.claim(lane.localPort);
    for (const sent of queue) socket.send(sent);
  });
  socket.connect(port, server);
  return lane;
}
