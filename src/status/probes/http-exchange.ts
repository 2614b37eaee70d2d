import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { exchange as exchangeHttp, type HttpHeaders } from "../../net/http-client/exchange.ts";
import { HttpError } from "../../net/http-client/http-error.ts";
import { isIP } from "../../net/ip.ts";
import type { ProbeConnections } from "./probe-connections.ts";
import { hostPort, type ProbeTarget, socketOptions } from "./probe-target.ts";

/** One request of a probe, without its redirects. HTTP/2 is spoken here, not by the floor: the handshake of the probe decides for it. */
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
  /** Where connections come from and go back to; undefined: each probe has one of its own. */
  readonly connections: ProbeConnections | undefined;
  readonly signal: AbortSignal;
}

export interface ProbeAnswer {
  readonly status: number;
  readonly headers: HttpHeaders | IncomingHttpHeaders;
  readonly body: Readable;
}

/** Also for probes without a limit of their own. */
const TLS_HANDSHAKE_MS = 10_000;
/** Some applications send cookies and policies of tens of kilobytes, also with their health. */
const MAX_HEAD_BYTES = 1024 * 1024;

/** Resolves with the answer's head; the caller reads or destroys the body. Rejects when the signal aborts. */
export async function exchange(probe: ProbeRequest): Promise<ProbeAnswer> {
  const target = hostPort(probe.target.host, probe.port);
  // Node's client would take the scheme's default port, and probe another server.
  if (probe.port === 0) throw new Error(`dial tcp ${target}: connect: connection refused`);
  if (!probe.isTls) return exchangeHttp1(probe, undefined);
  const { connections } = probe;
  const session = connections?.session(target);
  if (session !== undefined) return exchangeHttp2(probe, session);
  const idle = connections?.take(target);
  if (idle !== undefined) return exchangeHttp1(probe, idle, true);
  const socket = await openTls(probe);
  if (socket.alpnProtocol !== "h2") return exchangeHttp1(probe, socket);
  const opened = connectHttp2(`https://${probe.target.host || "localhost"}:${probe.port}`, {
    createConnection: () => socket,
  });
  // Streams report their own errors, and there may be none.
  opened.on("error", () => undefined);
  connections?.keepSession(target, opened);
  return exchangeHttp2(probe, opened);
}

/** Without a socket the agent has one, or a new connection is made. */
async function exchangeHttp1(probe: ProbeRequest, socket: Socket | undefined, wasIdle = false): Promise<ProbeAnswer> {
  const { connections, target, signal } = probe;
  const { host, port, ...options } = socketOptions(target, probe.port);
  const given = socket && {
    stream: socket,
    ...(connections && { release: () => connections.keep(hostPort(host, port), socket) }),
  };
  try {
    return await exchangeHttp(
      {
        url: new URL(`http://${hostPort(host, port)}`),
        ...options,
        method: "GET",
        target: probe.path,
        maxHeadBytes: MAX_HEAD_BYTES,
        // Health pages are often a line of shell: newlines without carriage returns and worse. Only the status counts.
        isLenient: true,
        headers: [...probe.rawHeaders, "Connection", connections === undefined ? "close" : "keep-alive"],
        agent: connections?.agent,
        socket: given,
      },
      signal,
    );
  } catch (thrown) {
    // The application may close an idle connection just when the next probe begins: that says nothing about it.
    const isStale = wasIdle || (thrown instanceof HttpError && thrown.isReused);
    if (isStale && !signal.aborted) return exchange(probe);
    throw thrown instanceof HttpError ? new Error(thrown.reason, { cause: thrown }) : thrown;
  }
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

function exchangeHttp2(probe: ProbeRequest, session: ClientHttp2Session): Promise<ProbeAnswer> {
  return new Promise((resolve, reject) => {
    const headers: Record<string, string | string[]> = { ":method": "GET", ":path": probe.path };
    for (let index = 0; index + 1 < probe.rawHeaders.length; index += 2) {
      const name = probe.rawHeaders[index]?.toLowerCase() ?? "";
      const value = probe.rawHeaders[index + 1] ?? "";
      if (name === "host") headers[":authority"] = value;
      if (HOP_HEADERS.has(name)) continue;
      headers[name] = name in headers ? [headers[name] ?? "", value].flat() : value;
    }
    const release = () => {
      if (probe.connections === undefined) session.destroy();
      else session.off("error", reject);
    };
    session.once("error", reject);
    const stream = requestOr(release, () => session.request(headers, { signal: probe.signal }));
    stream.on("error", reject);
    stream.on("close", () => {
      release();
      // A stream that is reset without an error code ends in silence.
      reject(new Error("the stream was closed without an answer"));
    });
    stream.on("response", (answer) => resolve({ status: answer[":status"] ?? 0, headers: answer, body: stream }));
    stream.end();
  });
}

/** Headers that HTTP/2 does not allow make the call throw: the connection must not stay behind. */
function requestOr<Result>(release: () => void, request: () => Result): Result {
  try {
    return request();
  } catch (thrown) {
    release();
    throw thrown;
  }
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
    let timer: NodeJS.Timeout | undefined;
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    };
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    socket.once("connect", () => {
      timer = setTimeout(abort, TLS_HANDSHAKE_MS);
    });
    socket.once("close", finish);
    socket.on("error", reject);
    socket.once("secureConnect", () => {
      finish();
      resolve(socket);
    });
  });
}
