import http, { type IncomingMessage } from "node:http";
import { CodedError, errorCode, errorMessage } from "../base/coded-error.ts";
import { quoteGo } from "../protocol/go-quote.ts";

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
  readonly body: string;
}

const MAX_REQUESTS = 10;
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** One HTTP request, redirects followed, with the error texts of the reference's HTTP client. */
export async function sendRequest(options: LoopbackRequest): Promise<LoopbackResponse> {
  const given = options.method === "" ? "GET" : options.method;
  if (!METHOD.test(given)) throw new RequestError("invalid-method", `net/http: invalid method ${quoteGo(given)}`);
  const signal = options.timeoutMs > 0 ? AbortSignal.timeout(options.timeoutMs) : undefined;
  // Errors name the method the user gave, also after a redirect has changed it.
  const fail = failureOf(given);
  let { url } = options;
  let [method, body] = [given, options.body ?? ""];
  for (let sent = 1; ; sent += 1) {
    const { status, location, ...response } = await sendOnce({ method, url, body, signal, fail });
    if (location === undefined) return { status, body: response.body };
    if (sent === MAX_REQUESTS) throw fail("failed", location, `stopped after ${MAX_REQUESTS} redirects`);
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

async function sendOnce(attempt: Attempt): Promise<LoopbackResponse & { readonly location: string | undefined }> {
  const { url, signal, fail } = attempt;
  let response: IncomingMessage | undefined;
  try {
    response = await exchange(attempt);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const status = response.statusCode ?? 0;
    const isRedirect = [301, 302, 303, 307, 308].includes(status);
    const location = isRedirect ? response.headers.location : undefined;
    return { status, body: Buffer.concat(chunks).toString("utf8"), location };
  } catch (cause) {
    if (signal?.aborted !== true) throw fail("failed", url, describe(cause), cause);
    // Once the headers are there the reference's client no longer names the request.
    if (response !== undefined) throw new RequestError("timeout", BODY_LATE, { cause });
    throw fail("timeout", url, HEADERS_LATE, cause);
  }
}

const HEADERS_LATE = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
const BODY_LATE = "context deadline exceeded (Client.Timeout or context cancellation while reading body)";

async function exchange({ method, url, body, signal }: Attempt): Promise<IncomingMessage> {
  const target = URL.canParse(url) ? new URL(url) : undefined;
  if (target === undefined || !["http:", "https:"].includes(target.protocol)) {
    throw new Error(`unsupported protocol scheme ${quoteGo(target?.protocol.slice(0, -1) ?? "")}`);
  }
  // TLS is loaded only where it is used: nothing on this machine speaks it by default.
  const { request } = target.protocol === "https:" ? await import("node:https") : http;
  return new Promise((resolve, reject) => {
    const headers = body === "" && method === "GET" ? {} : { "content-length": Buffer.byteLength(body) };
    // A name that means this machine is tried on both families, whatever the hosts file says.
    const settings = { method, headers, agent: false, lookup: localLookup, ...(signal && { signal }) } as const;
    const sent = request(target, settings, resolve);
    sent.once("error", reject);
    sent.end(body);
  });
}

type LookupCallback = (error: Error | null, addresses: { address: string; family: number }[]) => void;

/** `localhost` needs no resolver; other names go through the usual one. */
function localLookup(hostname: string, options: object, callback: LookupCallback): void {
  if (hostname === "localhost") {
    callback(null, [
      { address: "127.0.0.1", family: 4 },
      { address: "::1", family: 6 },
    ]);
    return;
  }
  import("node:dns").then(({ lookup }) =>
    lookup(hostname, { ...options, all: true }, (error, addresses) => callback(error, addresses ?? [])),
  );
}

function describe(cause: unknown): string {
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause;
  if (
    errorCode(inner) === "ECONNREFUSED" &&
    typeof inner === "object" &&
    inner !== null &&
    "address" in inner &&
    "port" in inner
  ) {
    const address = String(inner.address);
    const host = address.includes(":") ? `[${address}]` : address;
    return `dial tcp ${host}:${String(inner.port)}: connect: connection refused`;
  }
  if (errorCode(inner) === "ECONNRESET") return "EOF";
  return errorMessage(inner);
}

/** Errors begin with the method, of which only the first letter keeps its case. */
function failureOf(method: string) {
  const verb = method.charAt(0) + method.slice(1).toLowerCase();
  return (code: "failed" | "timeout", url: string, reason: string, cause?: unknown) =>
    new RequestError(code, `${verb} ${quoteGo(url)}: ${reason}`, { cause });
}
