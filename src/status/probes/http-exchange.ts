import { type IncomingMessage, request as requestHttp } from "node:http";
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { isIP } from "node:net";
import type { Readable } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { type ProbeTarget, socketOptions } from "./probe-target.ts";

/** One request of a probe, without its redirects. */
export interface ProbeRequest {
  readonly target: ProbeTarget;
  readonly port: number;
  readonly isTls: boolean;
  /** Raw path with query. */
  readonly path: string;
  /** Name and value by turns, `Host` among them. */
  readonly rawHeaders: readonly string[];
  /** Offer HTTP/2 in the TLS handshake. */
  readonly http2: boolean;
  readonly keepAlive: boolean;
  readonly signal: AbortSignal;
}

export interface ProbeAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"] | IncomingHttpHeaders;
  readonly body: Readable;
}

/** Resolves with the answer's head; the caller reads or destroys the body. Rejects when the signal aborts. */
export async function exchange(probe: ProbeRequest): Promise<ProbeAnswer> {
  if (!probe.isTls) return exchangeHttp1(probe, undefined);
  const socket = await openTls(probe);
  return socket.alpnProtocol === "h2" ? exchangeHttp2(probe, socket) : exchangeHttp1(probe, socket);
}

function exchangeHttp1(probe: ProbeRequest, socket: TLSSocket | undefined): Promise<ProbeAnswer> {
  return new Promise((resolve, reject) => {
    const connection = probe.keepAlive ? "keep-alive" : "close";
    const outgoing = requestHttp({
      ...socketOptions(probe.target, probe.port),
      method: "GET",
      path: probe.path,
      headers: [...probe.rawHeaders, "Connection", connection],
      signal: probe.signal,
      ...(socket === undefined ? { agent: false } : { createConnection: () => socket }),
    });
    outgoing.on("error", reject);
    outgoing.on("response", (answer) => {
      answer.on("error", () => undefined);
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer });
    });
    outgoing.end();
  });
}

/** What only HTTP/1 has; HTTP/2 refuses these names. */
const HOP_HEADERS = new Set([
  "host",
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "te",
]);

function exchangeHttp2(probe: ProbeRequest, socket: TLSSocket): Promise<ProbeAnswer> {
  return new Promise((resolve, reject) => {
    const headers: Record<string, string | string[]> = { ":method": "GET", ":path": probe.path };
    for (let index = 0; index + 1 < probe.rawHeaders.length; index += 2) {
      const name = probe.rawHeaders[index]?.toLowerCase() ?? "";
      const value = probe.rawHeaders[index + 1] ?? "";
      if (name === "host") headers[":authority"] = value;
      if (HOP_HEADERS.has(name)) continue;
      headers[name] = name in headers ? [headers[name] ?? "", value].flat() : value;
    }
    const session = connectHttp2(`https://${probe.target.host || "localhost"}:${probe.port}`, {
      createConnection: () => socket,
    });
    session.on("error", reject);
    const stream = session.request(headers, { signal: probe.signal });
    stream.on("error", reject);
    stream.on("close", () => session.destroy());
    stream.on("response", (answer) => resolve({ status: answer[":status"] ?? 0, headers: answer, body: stream }));
    stream.end();
  });
}

function openTls({ target, port, http2, signal }: ProbeRequest): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({
      ...socketOptions(target, port),
      // The kubelet does not verify either: the certificate is for the service's name, the probe goes to the pod.
      rejectUnauthorized: false,
      ...(isIP(target.host) === 0 && target.host !== "" && { servername: target.host }),
      ...(http2 && { ALPNProtocols: ["h2", "http/1.1"] }),
    });
    const abort = () => socket.destroy(new Error("net/http: TLS handshake timeout"));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    socket.once("close", () => signal.removeEventListener("abort", abort));
    socket.on("error", reject);
    socket.once("secureConnect", () => resolve(socket));
  });
}
