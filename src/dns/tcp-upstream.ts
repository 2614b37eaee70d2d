import { connect, type Socket } from "node:net";
import { answersQuery } from "../protocol/dns/reply-check.ts";
import { DnsError, systemWords } from "./errors.ts";
import { createTransactionIds, type UpstreamTransport } from "./upstream.ts";

/** Asks over a TCP connection per query: large answers are rare, and a shared connection would have them wait for each other. */
export function createTcpUpstream(port: number): UpstreamTransport {
  const nextId = createTransactionIds();
  const open = new Map<Socket, number>();
  return {
    query(server, message, done) {
      const sent = Buffer.allocUnsafe(2 + message.length);
      sent.writeUInt16BE(message.length, 0);
      message.copy(sent, 2);
      const id = nextId();
      sent.writeUInt16BE(id, 2);
      const socket = connect({ host: server, port });
      open.set(socket, id);
      let settled = false;
      const settle = (outcome: Buffer | string | Error) => {
        open.delete(socket);
        socket.destroy();
        if (settled) return;
        settled = true;
        const isText = typeof outcome === "string";
        done(isText ? new DnsError("upstream-failed", `tcp ${server}: ${outcome}`) : outcome);
      };
      let received = Buffer.alloc(0);
      socket.on("data", (chunk) => {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
        if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
        const reply = received.subarray(2, 2 + received.readUInt16BE(0));
        settle(answersQuery(sent.subarray(2), reply) ? reply : "the reply answers another question");
      });
      socket.on("error", (cause) => settle(systemWords(cause)));
      socket.on("close", () => settle("connection closed without a reply"));
      socket.write(sent);
      return () => {
        settled = true;
        settle("given up");
      };
    },
    isOwn(localPort, message) {
      const id = message.readUInt16BE(0);
      for (const [socket, sentId] of open) if (sentId === id && socket.localPort === localPort) return true;
      return false;
    },
    async stop() {
      await Promise.all([...open.keys()].map(closed));
    },
  };
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("close", () => resolve());
    socket.destroy();
  });
}
