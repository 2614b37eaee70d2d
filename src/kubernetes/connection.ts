import { createHash } from "node:crypto";
import { connect as connectSocket } from "node:net";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as connectTls, TLSSocket } from "node:tls";
import { abortAfter } from "../base/abort-after.ts";
import { unbracketHost } from "../net/host-port.ts";
import { openHttp } from "../net/http-client/http-request.ts";
import { connectTunnel } from "../net/http-proxy/connect-tunnel.ts";
import { parseProxy } from "../net/http-proxy/proxy-address.ts";
import type { KeepaliveOptions } from "../net/http2/keepalive.ts";
import {
  type Http2Request,
  type Http2Response,
  type Http2Session,
  openHttp2Session,
} from "../net/http2/open-http2-session.ts";
import { openedSocket } from "../net/opened-socket.ts";
import { publicRootsFor } from "../net/tls/handshake-options.ts";
import { serverIdentity } from "../net/tls/server-identity.ts";
import type { ClusterAccess } from "./access/cluster-access.ts";
import type { RequestCredentials } from "./access/credentials.ts";
import { MaterialReader } from "./access/material-reader.ts";

/** The way to one API server: one HTTP/2 connection for all requests, or one connection each where only HTTP/1 is spoken. */
export interface Connection {
  request(request: Http2Request, credentials: RequestCredentials): Promise<Http2Response>;
  stop(): Promise<void>;
}

/** Silence and time for the answer of a ping, as other Kubernetes clients have them. */
export const DEFAULT_KEEPALIVE: KeepaliveOptions = { intervalMs: 30_000, timeoutMs: 15_000 };
const CONNECT_MS = 30_000;
const CA_FILE_MS = 60_000;

type Opened = { readonly http2: Http2Session } | { readonly http1: Duplex };

export function createConnection(access: ClusterAccess, keepalive: KeepaliveOptions): Connection {
  const { server, ca, proxyUrl } = access;
  const isTls = server.protocol === "https:";
  const host = unbracketHost(server.hostname);
  const port = Number(server.port || (isTls ? 443 : 80));
  const roots = ca && new MaterialReader(ca, CA_FILE_MS);
  const proxy = proxyUrl && parseProxy(proxyUrl.reveal(), "proxy-url");
  const stopped = new AbortController();
  /** All that are not closed, also those that only finish what runs on them. */
  const sessions = new Set<Http2Session>();
  const sockets = new Set<Duplex>();
  const taken = new WeakSet<Duplex>();
  let current: { readonly key: string; readonly http2: Http2Session } | undefined;
  let opening: { readonly key: string; readonly result: Promise<Opened> } | undefined;
  /** What the server agreed to last. */
  let protocols: readonly string[] = ["h2", "http/1.1"];

  const dial = async (signal: AbortSignal): Promise<Duplex> => {
    if (proxy !== undefined)
      return connectTunnel({ proxy, target: `${server.hostname}:${port}`, roots: undefined }, signal);
    return openedSocket(connectSocket({ host, port, noDelay: true }), "connect", signal);
  };
  const secure = async (socket: Duplex, options: ConnectionOptions, signal: AbortSignal): Promise<TLSSocket> => {
    const name = access.serverName ?? host;
    return openedSocket(
      connectTls({ ...options, ...serverIdentity(name), socket, ALPNProtocols: [...protocols] }),
      "secureConnect",
      signal,
    );
  };
  const open = async (options: ConnectionOptions): Promise<Opened> => {
    using limit = abortAfter(CONNECT_MS, stopped.signal);
    const plain = await dial(limit.signal);
    const socket = isTls ? await secure(plain, options, limit.signal).catch(destroying(plain)) : plain;
    if (!(socket instanceof TLSSocket) || socket.alpnProtocol !== "h2") {
      protocols = ["http/1.1"];
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      return { http1: socket };
    }
    const http2 = openHttp2Session(socket, { scheme: "https", authority: server.host, keepalive });
    sessions.add(http2);
    socket.once("close", () => sessions.delete(http2));
    return { http2 };
  };

  const tlsOptions = async ({ certificate }: RequestCredentials): Promise<ConnectionOptions> => {
    if (!isTls) return {};
    const given = {
      ...(roots !== undefined && { ca: (await roots.get()).reveal() }),
      ...(certificate !== undefined && { cert: certificate.cert, key: certificate.key.reveal() }),
      ...(access.isInsecure && { rejectUnauthorized: false }),
    };
    return { ...given, ...publicRootsFor(given) };
  };
  /** Another certificate or another CA needs another connection; the old one is closed when its requests are done. */
  const sessionFor = async (credentials: RequestCredentials): Promise<Opened> => {
    const options = await tlsOptions(credentials);
    const key = keyOf(options);
    if (current?.key === key && current.http2.isUsable()) return current;
    if (!protocols.includes("h2") || !isTls) return open(options);
    if (opening?.key !== key) {
      const result = open(options)
        .catch((failure: unknown) => {
          // The server may have a certificate of a CA that the file has by now.
          roots?.expire();
          throw failure;
        })
        .finally(() => {
          if (opening?.key === key) opening = undefined;
        });
      opening = { key, result };
    }
    const opened = await opening.result;
    if (!("http2" in opened)) {
      // Several callers waited for a connection that turned out to be HTTP/1: the first one gets it.
      if (taken.has(opened.http1) || opened.http1.destroyed) return open(options);
      taken.add(opened.http1);
      return opened;
    }
    if (current?.http2 !== opened.http2) {
      current?.http2.drain();
      current = { key, http2: opened.http2 };
    }
    return opened;
  };

  return {
    async request(request, credentials) {
      stopped.signal.throwIfAborted();
      const opened = await unlessAborted(sessionFor(credentials), request.signal);
      if ("http2" in opened) return opened.http2.request(request);
      return requestHttp1(opened.http1, server, request);
    },
    async stop() {
      stopped.abort(new Error("the client was stopped"));
      await opening?.result.catch(() => undefined);
      for (const socket of sockets) socket.destroy();
      await Promise.all([...sessions].map((session) => session.destroy()));
    },
  };
}

async function requestHttp1(socket: Duplex, server: URL, request: Http2Request): Promise<Http2Response> {
  const { method, path, headers, body, signal } = request;
  const flat = Object.entries(headers).flatMap(([name, value]) =>
    (typeof value === "string" ? [value] : value).map((each) => [name, each] as const),
  );
  const length = body === undefined ? [] : [["content-length", String(Buffer.byteLength(body))] as const];
  const list = [["host", server.host] as const, ...flat, ...length].flat();
  const response = await openHttp({
    url: new URL(path, server),
    method,
    body,
    signal,
    socket: { stream: socket },
    forHop: () => ({ headers: list }),
  });
  const { status, headers: received, body: answer } = response;
  answer.once("close", () => socket.destroy());
  const whole = { [Symbol.asyncIterator]: () => answer[Symbol.asyncIterator](), destroy: () => void answer.destroy() };
  return { status, headers: received, body: whole };
}

function keyOf(options: ConnectionOptions): string {
  const hash = createHash("sha256");
  for (const part of [options.ca, options.cert, options.key]) hash.update(`${part ?? ""}\0`);
  return hash.digest("hex");
}

/** A connection for many goes on being made; one for this request alone is closed when it comes too late. */
function unlessAborted(work: Promise<Opened>, signal: AbortSignal): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      reject(signal.reason);
      work.then(
        (late) => "http1" in late && late.http1.destroy(),
        () => undefined,
      );
    };
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function destroying(socket: Duplex): (failure: unknown) => never {
  return (failure) => {
    socket.destroy();
    throw failure;
  };
}
