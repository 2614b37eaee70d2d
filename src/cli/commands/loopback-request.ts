import http, { type IncomingMessage } from "node:http";
import { abortAfter } from "../../base/abort-after.ts";
import { CodedError, errorCode, errorMessage } from "../../base/coded-error.ts";
import { quoteGo } from "../../base/go-quote.ts";
import { joinHostPort } from "../../net/host-port.ts";

export class RequestError extends CodedError<"failed" | "timeout" | "invalid-method"> {}

export interface LoopbackRequest {
  readonly method: string;
  readonly url: string;
  readonly body?: string;
  /** For all of it, redirects and body included; zero and below mean no limit. */
  readonly timeoutMs: number;
}

export interface LoopbackResponse {
  readonly status: number;
  /** As text. */
  readonly body: string;
  /** As it came: profiles and protobuf are no text. */
  readonly bytes: Buffer;
}

const MAX_REQUESTS = 10;
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** One HTTP request, redirects followed, with the error texts of the reference's HTTP client. */
export async function sendRequest(options: LoopbackRequest): Promise<LoopbackResponse> {
  using limit = options.timeoutMs > 0 ? abortAfter(options.timeoutMs) : undefined;
  return await follow(options, limit?.signal);
}

async function follow(options: LoopbackRequest, signal: AbortSignal | undefined): Promise<LoopbackResponse> {
  const given = options.method === "" ? "GET" : options.method;
  if (!METHOD.test(given)) throw new RequestError("invalid-method", `net/http: invalid method ${quoteGo(given)}`);
  const found = badEscape(options.url);
  if (found !== undefined)
    throw new RequestError("failed", `parse ${quoteGo(options.url)}: invalid URL escape ${quoteGo(found)}`);
  // Errors name the method the user gave, also after a redirect has changed it.
  const fail = failureOf(given);
  let { url } = options;
  let [method, body] = [given, options.body ?? ""];
  for (let sent = 1; ; sent += 1) {
    const { status, location, bytes } = await sendOnce({ method, url, body, signal, fail });
    if (location === undefined) return { status, bytes, body: bytes.toString("utf8") };
    if (sent === MAX_REQUESTS) throw fail("failed", location, `stopped after ${MAX_REQUESTS} redirects`);
    if (!URL.canParse(location, url)) throw fail("failed", url, `failed to parse Location header ${quoteGo(location)}`);
    url = new URL(location, url).href;
    // 307 and 308 repeat the request; the older codes turn it into a GET without body.
    if (status < 307 && method !== "HEAD") [method, body] = ["GET", ""];
  }
}

interface Attempt {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly signal: AbortSignal | undefined;
  readonly fail: ReturnType<typeof failureOf>;
}

interface Answer {
  readonly status: number;
  readonly bytes: Buffer;
  readonly location: string | undefined;
}

async function sendOnce(attempt: Attempt): Promise<Answer> {
  const { url, signal, fail } = attempt;
  let response: IncomingMessage | undefined;
  try {
    response = await exchange(attempt);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const status = response.statusCode ?? 0;
    const isRedirect = [301, 302, 303, 307, 308].includes(status);
    const location = isRedirect ? response.headers.location : undefined;
    return { status, bytes: Buffer.concat(chunks), location };
  } catch (cause) {
    const isLate = signal?.aborted === true;
    // Once the headers are there the reference's client no longer names the request.
    if (response !== undefined)
      throw isLate
        ? new RequestError("timeout", BODY_LATE, { cause })
        : new RequestError("failed", errorCode(cause) === "ECONNRESET" ? BODY_CUT : errorMessage(cause), { cause });
    throw isLate ? fail("timeout", url, HEADERS_LATE, cause) : fail("failed", url, describe(cause), cause);
  }
}

const HEADERS_LATE = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
const BODY_LATE = "context deadline exceeded (Client.Timeout or context cancellation while reading body)";
const BODY_CUT = "unexpected EOF";

/** Node takes 16 kB for the headers of an answer, the reference's client a megabyte. */
const MAX_HEADER_BYTES = 1024 * 1024;

async function exchange({ method, url, body, signal }: Attempt): Promise<IncomingMessage> {
  const target = parseTarget(url);
  // TLS is loaded only where it is used: nothing on this machine speaks it by default.
  const { request } = target.protocol === "https:" ? await import("node:https") : http;
  return new Promise((resolve, reject) => {
    const headers = body === "" && method === "GET" ? {} : { "content-length": Buffer.byteLength(body) };
    const sent = request(target, {
      path: requestTarget(url),
      headers,
      agent: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      // A name that means this machine is tried on both families, whatever the hosts file says.
      lookup: localLookup,
      ...(signal && { signal }),
    });
    // As given: Node's own option turns it into capitals.
    sent.method = method;
    sent.once("response", resolve);
    // Without listeners these would close the connection and nobody would hear of it.
    for (const event of ["connect", "upgrade"] as const) {
      sent.once(event, (_answer, socket) => {
        socket.destroy();
        reject(new Error("the server wants to speak another protocol"));
      });
    }
    sent.once("error", reject);
    sent.end(body);
  });
}

/** The first percent sign of the path that begins no escape, with what follows it; in a query anything goes. */
function badEscape(url: string): string | undefined {
  const [path = ""] = url.split(/[?#]/);
  return /%(?![0-9a-fA-F]{2}).{0,2}/s.exec(path)?.[0];
}

function parseTarget(url: string): URL {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase() ?? "";
  if (scheme !== "http" && scheme !== "https") throw new Error(`unsupported protocol scheme ${quoteGo(scheme)}`);
  if (URL.canParse(url)) return new URL(url);
  const port = /^[a-z]+:\/\/[^/?#]*:(\d+)(?:[/?#]|$)/i.exec(url)?.[1];
  throw new Error(port === undefined ? "invalid URL" : `dial tcp: address ${port}: invalid port`);
}

/**
 * Path and query as they were written. The parsed form is another: it resolves `..`, turns backslashes and drops tabs. Only what a request
 * line cannot hold is encoded.
 */
function requestTarget(url: string): string {
  const [, written = ""] = /^[a-z]+:\/*[^/?#]*([^#]*)/i.exec(url) ?? [];
  const encoded = written.replace(/[^\x21-\x7e]+/g, encodeURIComponent);
  const query = encoded.indexOf("?");
  const path = (query === -1 ? encoded : encoded.slice(0, query)).replace(/["\\<>^`{|}]/g, encodeURIComponent);
  return `${path.startsWith("/") ? "" : "/"}${path}${query === -1 ? "" : encoded.slice(query)}`;
}

type LookupCallback = (error: Error | null, addresses: { address: string; family: number }[]) => void;

const LOCALHOST = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/** `localhost` needs no resolver; other names go through the usual one. */
function localLookup(hostname: string, options: object, callback: LookupCallback): void {
  if (hostname === "localhost") {
    // Never at once: a connection that fails at once would do so before the request listens, and end the program.
    setImmediate(callback, null, LOCALHOST);
    return;
  }
  import("node:dns").then(({ lookup }) =>
    lookup(hostname, { ...options, all: true }, (error, addresses) => callback(error, addresses ?? [])),
  );
}

/** The system's words for what it says to a connection. */
const DIAL_PROBLEMS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ENETUNREACH: "network is unreachable",
  EHOSTUNREACH: "no route to host",
  EADDRNOTAVAIL: "cannot assign requested address",
  ETIMEDOUT: "connection timed out",
};

function describe(cause: unknown): string {
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause;
  const refusal = DIAL_PROBLEMS[errorCode(inner) ?? ""];
  if (refusal !== undefined && typeof inner === "object" && inner !== null && "address" in inner && "port" in inner) {
    return `dial tcp ${joinHostPort(String(inner.address), String(inner.port))}: connect: ${refusal}`;
  }
  if (errorCode(inner) === "ECONNRESET") return "EOF";
  if (errorCode(inner) === "ENOTFOUND" && typeof inner === "object" && inner !== null && "hostname" in inner)
    return `dial tcp: lookup ${String(inner.hostname)}: no such host`;
  return errorMessage(inner);
}

/** Errors begin with the method, of which only the first letter keeps its case. */
function failureOf(method: string) {
  const verb = method.charAt(0) + method.slice(1).toLowerCase();
  return (code: "failed" | "timeout", url: string, reason: string, cause?: unknown) =>
    new RequestError(code, `${verb} ${quoteGo(url)}: ${reason}`, { cause });
}
