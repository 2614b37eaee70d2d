import { readFile } from "node:fs/promises";
import { connect, type TLSSocket } from "node:tls";
import { backoffDelayMs } from "../../base/backoff.ts";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { RCODE } from "../../protocol/dns/constants.ts";
import { type DomainName, isAtOrBelow } from "../../protocol/dns/name.ts";
import { answersQuery, rcodeOf } from "../../protocol/dns/reply-check.ts";
import { parseTrustBundle } from "../../protocol/x509/trust-bundle.ts";

/** Where releases up to 1.7 resolve the names of the mesh: at the control plane, over TLS (RFC 7858). */
export interface TlsRelayOptions {
  /** Canonical; names at or below one of them are asked there, all others are not. */
  readonly suffixes: readonly DomainName[];
  readonly host: string;
  readonly port: number;
  readonly serverName: string;
  /** PEM file of the trusted roots, read for every connection. */
  readonly rootFile: string;
}

export interface TlsRelay {
  covers(name: DomainName): boolean;
  /** The reply under an id of the relay's own; undefined when there is none in time. */
  ask(message: Buffer): Promise<Buffer | undefined>;
  stop(): Promise<void>;
}

interface Waiting {
  readonly sent: Buffer;
  readonly settle: (reply: Buffer | undefined) => void;
}

const ANSWER_MS = 2_000;
const DIAL_MS = 2_000;
/** How long a query waits for a connection that is being made. */
const CONNECT_GRACE_MS = 100;
const RECONNECT = { initialMs: 1_000, maxMs: 64_000, factor: 2, jitter: 0 };
const MAX_IDS = 0x10000;

/**
 * One connection that stays open, with queries side by side on it. It is opened at once and again when it ends, after 1 s, then twice that,
 * up to 64 s. An answer without records becomes "no such name", as in those releases.
 */
export function startTlsRelay(options: TlsRelayOptions, log: Logger): TlsRelay {
  const waiting = new Map<number, Waiting>();
  const connected = new Set<() => void>();
  let socket: TLSSocket | undefined;
  let isOpen = false;
  let failures = 0;
  let lastId = 0;
  let retry: NodeJS.Timeout | undefined;
  let isStopped = false;

  const reconnect = (failure: unknown) => {
    socket = undefined;
    isOpen = false;
    for (const { settle } of [...waiting.values()]) settle(undefined);
    if (isStopped) return;
    failures++;
    const waitMs = backoffDelayMs(RECONNECT, failures);
    log.warn(`DNS over TLS: ${errorMessage(failure)}`, { server: `${options.host}:${options.port}`, retryMs: waitMs });
    retry = setTimeout(open, waitMs);
  };
  const open = () => {
    dial(options).then(
      (dialled) => {
        if (isStopped) return void dialled.destroy();
        socket = dialled;
        follow(dialled);
      },
      (failure: unknown) => reconnect(failure),
    );
  };
  const follow = (opened: TLSSocket) => {
    let ended: unknown = new Error("the connection was closed");
    opened.setTimeout(DIAL_MS, () => opened.destroy(new Error(`no connection within ${DIAL_MS} ms`)));
    opened.once("secureConnect", () => {
      opened.setTimeout(0);
      isOpen = true;
      failures = 0;
      for (const resume of connected) resume();
    });
    readFrames(opened, (reply) => {
      const query = waiting.get(reply.readUInt16BE(0));
      if (query !== undefined && answersQuery(query.sent, reply)) query.settle(reply);
    });
    opened.on("error", (failure) => {
      ended = failure;
    });
    opened.once("close", () => reconnect(ended));
  };
  open();

  return {
    covers: (name) => options.suffixes.some((suffix) => isAtOrBelow(name, suffix)),
    async ask(message) {
      if (!isOpen) await graceFor(connected);
      if (!isOpen || socket === undefined || waiting.size >= MAX_IDS) return undefined;
      do lastId = (lastId + 1) % MAX_IDS;
      while (waiting.has(lastId));
      const id = lastId;
      const frame = Buffer.allocUnsafe(2 + message.length);
      frame.writeUInt16BE(message.length, 0);
      message.copy(frame, 2);
      frame.writeUInt16BE(id, 2);
      socket.write(frame);
      const reply = await new Promise<Buffer | undefined>((resolve) => {
        const timer = setTimeout(() => settle(undefined), ANSWER_MS);
        const settle = (outcome: Buffer | undefined) => {
          clearTimeout(timer);
          waiting.delete(id);
          resolve(outcome);
        };
        waiting.set(id, { sent: frame.subarray(2), settle });
      });
      return reply && withoutEmptyAnswer(reply);
    },
    async stop() {
      isStopped = true;
      clearTimeout(retry);
      for (const resume of connected) resume();
      for (const { settle } of [...waiting.values()]) settle(undefined);
      const last = socket;
      if (last === undefined || last.destroyed) return;
      await new Promise<void>((closed) => {
        last.once("close", () => closed());
        last.destroy();
      });
    },
  };
}

async function dial({ host, port, serverName, rootFile }: TlsRelayOptions): Promise<TLSSocket> {
  const { pem, count } = parseTrustBundle(await readFile(rootFile, "latin1"));
  if (count === 0) throw new Error(`no certificate in ${rootFile}`);
  return connect({ host, port, servername: serverName, ca: pem, minVersion: "TLSv1.2" });
}

/** Until there is a connection, but not for long. */
function graceFor(connected: Set<() => void>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      connected.delete(done);
      resolve();
    };
    const timer = setTimeout(done, CONNECT_GRACE_MS);
    connected.add(done);
  });
}

function readFrames(socket: TLSSocket, onMessage: (message: Buffer) => void): void {
  let received: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const end = 2 + received.readUInt16BE(0);
      if (end > 3) onMessage(received.subarray(2, end));
      received = received.subarray(end);
    }
  });
}

function withoutEmptyAnswer(reply: Buffer): Buffer {
  if (rcodeOf(reply) !== RCODE.NOERROR || reply.readUInt16BE(6) > 0) return reply;
  const copy = Buffer.from(reply);
  copy[3] = ((copy[3] ?? 0) & 0xf0) | RCODE.NXDOMAIN;
  return copy;
}
