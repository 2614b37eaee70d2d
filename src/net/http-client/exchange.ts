import type { ClientRequest, IncomingMessage } from "node:http";
import type { RequestOptions } from "node:https";
import type { LookupFunction } from "node:net";
import type { Duplex, Readable } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import { errorMessage } from "../../base/coded-error.ts";
import type { Dial } from "../dial.ts";
import type { ProxyRoute } from "../http-proxy/proxy-route.ts";
import { HttpError, type HttpErrorCode } from "./http-error.ts";
import type { HttpAgent } from "./keep-alive-agent.ts";

export type HttpHeaders = IncomingMessage["headers"];

/** Material of the TLS handshake; the public roots are trusted where none are named. */
export type HttpTls = Pick<
  ConnectionOptions,
  "ca" | "cert" | "key" | "secureContext" | "servername" | "rejectUnauthorized" | "checkServerIdentity"
>;

/** How a request reaches its server. */
export interface HttpConnection {
  readonly tls?: HttpTls | undefined;
  /** A unix socket; of the URL then only path and Host header count. */
  readonly socketPath?: string;
  readonly proxy?: ProxyRoute | undefined;
  /** Name resolution of the connection; not called for literal addresses. */
  readonly lookup?: LookupFunction;
  readonly localAddress?: string;
  readonly family?: number;
  readonly autoSelectFamily?: boolean;
  /** Connections that serve one request after the other; absent: each request has one of its own. */
  readonly agent?: HttpAgent | undefined;
  /** An open connection, its TLS done. `release` is called when the next request may use it; absent: it is closed. */
  readonly socket?: { readonly stream: Duplex; release?(): void } | undefined;
  /** TCP keepalive, for responses that are silent for long. */
  readonly keepaliveMs?: number;
}

/** One request, without its redirects. */
export interface Exchange extends HttpConnection {
  readonly url: URL;
  readonly method: string;
  /** By name, or name and value by turns, sent exactly as they are. */
  readonly headers: Readonly<Record<string, string>> | readonly string[];
  readonly body?: string | Uint8Array | undefined;
  /** The request target as it is to be sent; path and query of the URL when absent. */
  readonly target?: string;
  readonly maxHeadBytes?: number;
  /** Takes responses whose head is not quite HTTP. */
  readonly isLenient?: boolean;
}

export interface StreamedResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  /** Where the response came from in the end. */
  readonly url: URL;
  /** The caller reads it to its end or discards the response. */
  readonly body: Readable;
  readonly location: string | undefined;
  discard(): void;
}

/** Resolves with the response's head. The signal ends the exchange, also while the body is read. Rejects with an `HttpError`. */
export async function exchange(request: Exchange, signal: AbortSignal): Promise<StreamedResponse> {
  const { url, method, body } = request;
  const send = await open(request);
  return new Promise((resolve, reject) => {
    const outgoing = send(signal);
    const fail = (code: HttpErrorCode, reason: string, cause?: unknown) => {
      const isReused = outgoing.reusedSocket;
      reject(
        new HttpError(code, { method, url, reason, phase: "head", isReused, ...(cause !== undefined && { cause }) }),
      );
    };
    // As given: Node's own option turns it into capitals.
    if (!Array.isArray(request.headers)) outgoing.method = method;
    if (request.keepaliveMs !== undefined) outgoing.setSocketKeepAlive(true, request.keepaliveMs);
    keepOpen(request, outgoing);
    // Without listeners these would close the connection and the request would never settle.
    for (const event of ["connect", "upgrade"] as const) {
      outgoing.once(event, (_response, socket) => {
        socket.destroy();
        fail("upgraded", "the server wants to speak another protocol");
      });
    }
    outgoing.on("error", (cause) => fail("unreachable", errorMessage(cause), cause));
    outgoing.once("close", () => fail("unreachable", "the connection was closed without an answer"));
    outgoing.once("response", (incoming) => {
      // A response that is discarded may still fail.
      incoming.on("error", () => undefined);
      resolve({
        status: incoming.statusCode ?? 0,
        headers: incoming.headers,
        url,
        body: incoming,
        location: incoming.headers.location,
        discard: () => void outgoing.destroy(),
      });
    });
    outgoing.end(body);
  });
}

/** Loads what the request needs: the agent's start must not wait for modules that it may never use. */
async function open(request: Exchange): Promise<(signal: AbortSignal) => ClientRequest> {
  const { url, proxy, socket } = request;
  const isTls = url.protocol === "https:" && socket === undefined;
  if (!isTls) {
    const http = await import("node:http");
    const options = plainOptions(request);
    const target = url.protocol === "https:" ? new URL(`http:${url.href.slice("https:".length)}`) : url;
    return (signal) =>
      http.request(target, { ...options, ...(proxy && !socket && dialled(proxy.dial, signal)), signal });
  }
  const [https, tls, { publicRootsFor }] = await Promise.all([
    import("node:https"),
    import("node:tls"),
    import("../tls/handshake-options.ts"),
  ]);
  const given = request.tls ?? {};
  const options = { ...plainOptions(request), ...given, ...publicRootsFor(given) };
  return (signal) =>
    https.request(url, {
      ...options,
      ...(proxy && dialled(proxy.dial, signal, tls.connect)),
      signal,
    });
}

function plainOptions(request: Exchange): RequestOptions {
  const { url, method, socket, proxy, maxHeadBytes, isLenient, target } = request;
  const shared: RequestOptions = {
    method,
    headers: sentHeaders(request),
    agent: false,
    ...(target !== undefined && { path: target }),
    ...(maxHeadBytes !== undefined && { maxHeaderSize: maxHeadBytes }),
    ...(isLenient && { insecureHTTPParser: true }),
  };
  if (socket !== undefined) {
    const { agent: _, ...rest } = shared;
    return { ...rest, createConnection: () => socket.stream };
  }
  // To a proxy the whole address is sent, and the Host header of the server that is meant.
  if (proxy?.kind === "forward") return { ...shared, path: `${url.origin}${url.pathname}${url.search}` };
  const { socketPath, lookup, localAddress, family, autoSelectFamily, agent } = request;
  return {
    ...shared,
    ...(agent !== undefined && { agent }),
    ...(socketPath !== undefined && { socketPath }),
    ...(lookup !== undefined && { lookup }),
    ...(localAddress !== undefined && { localAddress }),
    ...(family !== undefined && { family }),
    ...(autoSelectFamily !== undefined && { autoSelectFamily }),
  };
}

function sentHeaders({ headers, method, body, url, proxy }: Exchange): string[] | Record<string, string> {
  if (isList(headers)) return [...headers];
  const length = body === undefined ? (method === "GET" || method === "HEAD" ? undefined : 0) : Buffer.byteLength(body);
  return {
    ...headers,
    ...(length !== undefined && { "content-length": String(length) }),
    ...(proxy?.kind === "forward" && { host: url.host, ...proxy.headers }),
  };
}

function isList(headers: Exchange["headers"]): headers is readonly string[] {
  return Array.isArray(headers);
}

/** The request on the byte stream that `dial` gives; with `connectTls`, inside TLS with the server itself. */
function dialled(dial: Dial, signal: AbortSignal, connectTls?: typeof import("node:tls").connect): RequestOptions {
  return {
    // Without an agent: with one of its own, Node does not wait for a connection that is made asynchronously.
    agent: undefined,
    createConnection: (options, created) => {
      // The declared type has no socket to leave out, yet there is none when it could not be opened.
      const ready = created as (failure: Error | null, socket?: Duplex) => void;
      const { host, servername = host } = options as ConnectionOptions;
      dial(signal).then(
        // Errors from here on are the request's.
        (socket) =>
          ready(
            null,
            connectTls?.({ ...(options as ConnectionOptions), socket, ...(servername && { servername }) }) ?? socket,
          ),
        (failure: Error) => ready(failure),
      );
      return undefined;
    },
  };
}

/** Without an agent Node would close a connection that was handed in; so it says when the response was read to its end. */
function keepOpen({ socket }: Exchange, outgoing: ClientRequest): void {
  if (socket?.release === undefined) return;
  outgoing.shouldKeepAlive = true;
  socket.stream.once("free", () => socket.release?.());
}
