import { type IncomingMessage, request } from "node:http";
import { CodedError, errorCode, errorMessage } from "../base/coded-error.ts";

export class RequestError extends CodedError<"failed" | "timeout" | "invalid-method"> {}

export interface LoopbackRequest {
  readonly method: string;
  readonly url: string;
  readonly body?: string;
  readonly timeoutMs: number;
}

export interface LoopbackResponse {
  readonly status: number;
  readonly body: string;
}

const MAX_REDIRECTS = 10;
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** One HTTP request, redirects followed, with the error texts of the reference's HTTP client. The limit spans all of it. */
export async function sendRequest(options: LoopbackRequest): Promise<LoopbackResponse> {
  if (!METHOD.test(options.method)) {
    throw new RequestError("invalid-method", `net/http: invalid method ${JSON.stringify(options.method)}`);
  }
  const signal = AbortSignal.timeout(options.timeoutMs);
  let { url, method } = options;
  let body = options.body ?? "";
  for (let hop = 0; ; hop += 1) {
    if (hop > MAX_REDIRECTS) throw failure(method, url, `stopped after ${MAX_REDIRECTS} redirects`);
    const response = await sendOnce({ method, url, body, signal });
    const { location } = response;
    if (location === undefined) return { status: response.status, body: response.body };
    url = new URL(location, url).href;
    // 307 and 308 repeat the request; the older codes turn it into a GET without body.
    if (response.status < 307 && method !== "HEAD") [method, body] = ["GET", ""];
  }
}

interface Attempt {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly signal: AbortSignal;
}

async function sendOnce(attempt: Attempt): Promise<LoopbackResponse & { readonly location: string | undefined }> {
  const { method, url, signal } = attempt;
  try {
    const response = await exchange(attempt);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const status = response.statusCode ?? 0;
    const isRedirect = [301, 302, 303, 307, 308].includes(status);
    const location = isRedirect ? response.headers.location : undefined;
    return { status, body: Buffer.concat(chunks).toString("utf8"), location };
  } catch (cause) {
    if (signal.aborted) {
      const reason = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
      throw new RequestError("timeout", failure(method, url, reason).message, { cause });
    }
    throw failure(method, url, describe(cause), cause);
  }
}

function exchange({ method, url, body, signal }: Attempt): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // A name that means this machine is tried on both families, whatever the hosts file says.
    const target = new URL(url);
    const headers = body === "" && method === "GET" ? {} : { "content-length": Buffer.byteLength(body) };
    const sent = request(target, { method, signal, headers, agent: false, lookup: localLookup }, resolve);
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

function failure(method: string, url: string, reason: string, cause?: unknown): RequestError {
  const verb = method.charAt(0).toUpperCase() + method.slice(1).toLowerCase();
  return new RequestError("failed", `${verb} "${url}": ${reason}`, { cause });
}
