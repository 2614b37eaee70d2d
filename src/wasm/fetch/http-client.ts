import { type IncomingMessage, request as requestHttp } from "node:http";
import { type RequestOptions, request as requestHttps } from "node:https";
import type { SecureContext } from "node:tls";
import { abortAfter } from "../../base/abort-after.ts";
import { errorMessage } from "../../base/coded-error.ts";
import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import type { ProxyRoute } from "../../net/http-proxy/proxy-route.ts";
import { WasmError } from "../wasm-error.ts";
import type { AddressRule } from "./address-rules.ts";
import { guardedLookup, type Resolve, refuseLiteral } from "./guarded-lookup.ts";
import { forwarded, tunnelled } from "./route.ts";

export interface HttpClientOptions {
  readonly isForbidden: AddressRule;
  /** Whether certificates of that host[:port] go unverified. */
  readonly isInsecure: (host: string) => boolean;
  /** For one exchange without the redirects that follow it; only the request's own signal when absent. */
  readonly timeoutMs?: number;
  /** For TLS: the roots that are trusted. */
  readonly roots: () => SecureContext;
  readonly route?: (url: URL) => ProxyRoute | undefined;
  /** The system's when absent. */
  readonly resolve?: Resolve;
}

export interface ClientRequest {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent with POST. */
  readonly body?: string | undefined;
  /** A longer answer is refused. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Throws for an address that must not be asked, the first one and each redirect's. */
  readonly inspect?: (url: URL) => void;
}

export interface ClientAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** Of an answer with status 200; nobody waits for the words of another, which may be many or slow. */
  readonly body: Buffer;
  /** Where the answer came from in the end. */
  readonly url: URL;
}

/** An answer with an error status is an answer. */
export type HttpClient = (request: ClientRequest) => Promise<ClientAnswer>;

const MAX_REDIRECTS = 10;
const MAX_SHOWN = 500;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** These ask for the same request elsewhere; the others for the page that is there. */
const SAME_METHOD = new Set([307, 308]);

/** Every connection, also of a redirect, goes through the address rules at the moment it is made. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  return async (request) => {
    let { url, headers = {}, body } = request;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      request.inspect?.(url);
      const answer = await exchange(options, { ...request, url, headers, body });
      const { location } = answer.headers;
      if (!REDIRECTS.has(answer.status) || location === undefined) return answer;
      const next = redirectTarget(location, url);
      // Another host has no right to the credentials of the first one; what is posted is one.
      if (next.origin !== url.origin) {
        if (body !== undefined && SAME_METHOD.has(answer.status)) throw postedElsewhere(url);
        headers = withoutCredentials(headers);
      }
      if (!SAME_METHOD.has(answer.status)) body = undefined;
      url = next;
    }
    throw new WasmError("unreachable", `Get "${shownUrl(request.url)}": stopped after ${MAX_REDIRECTS} redirects`);
  };
}

/** Without what may be secret: user, query, fragment. A redirect may name an address of many kilobytes. */
export function shownUrl(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`.slice(0, MAX_SHOWN);
}

async function exchange(options: HttpClientOptions, request: ClientRequest): Promise<ClientAnswer> {
  const { url, body } = request;
  refuseLiteral(url, options.isForbidden);
  const route = options.route?.(url);
  using limit = abortAfter(options.timeoutMs ?? MAX_TIMER_MS, request.signal);
  const fail = (cause: unknown) => {
    if (cause instanceof WasmError) return cause;
    const what = request.signal.aborted ? "deadline exceeded" : `no answer within ${options.timeoutMs} ms`;
    const reason =
      route?.kind === "forward" ? `the HTTP proxy ${route.proxy.shown}: ${errorMessage(cause)}` : errorMessage(cause);
    const text = limit.signal.aborted ? what : reason;
    const code = limit.signal.aborted ? "timeout" : "unreachable";
    return new WasmError(code, `${body === undefined ? "Get" : "Post"} "${shownUrl(url)}": ${text}`, { cause });
  };
  if (request.signal.aborted) throw fail(request.signal.reason);
  // Awaited here, because the limit ends with this block.
  return await new Promise<ClientAnswer>((resolve, reject) => {
    const headers = { "user-agent": "pilot-agent", ...request.headers };
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const outgoing = send(url, {
      method: body === undefined ? "GET" : "POST",
      ...connection(options, { ...request, headers }, route, limit.signal),
      signal: limit.signal,
      ...(url.protocol === "https:" && { secureContext: options.roots() }),
      ...(options.isInsecure(url.host) && { rejectUnauthorized: false }),
    });
    outgoing.on("error", (cause) => reject(fail(cause)));
    outgoing.on("response", (answer) => {
      const { statusCode: status = 0, headers } = answer;
      if (status !== 200) {
        resolve({ status, headers, body: Buffer.alloc(0), url });
        return void outgoing.destroy();
      }
      readBody(answer, request.maxBytes)
        .then((bytes) => resolve({ status, headers, body: bytes, url }))
        .catch((cause: unknown) => {
          outgoing.destroy();
          reject(fail(cause));
        });
    });
    outgoing.end(body);
  });
}

/** Behind a proxy the name is the proxy's to resolve, and its address rules apply instead of ours. */
function connection(
  options: HttpClientOptions,
  { url, headers = {} }: ClientRequest,
  route: ProxyRoute | undefined,
  signal: AbortSignal,
): RequestOptions {
  if (route?.kind === "forward") return forwarded(route.proxy, url, headers);
  if (route?.kind === "tunnel") return { ...tunnelled(route.dial, signal), headers };
  return { agent: false, lookup: guardedLookup(options.isForbidden, options.resolve), headers };
}

/** With a known length into one piece of memory: modules are large, and joining chunks would take them twice. */
async function readBody(answer: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => new WasmError("too-large", `the answer is larger than the allowed ${maxBytes} bytes`);
  const announced = Number(answer.headers["content-length"] ?? 0);
  if (announced > maxBytes) throw tooLarge();
  const whole = announced > 0 ? Buffer.allocUnsafeSlow(announced) : undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (size + chunk.length > maxBytes) throw tooLarge();
    if (whole === undefined) chunks.push(chunk);
    else chunk.copy(whole, size);
    size += chunk.length;
  }
  return whole?.subarray(0, size) ?? Buffer.concat(chunks, size);
}

function redirectTarget(location: string, from: URL): URL {
  const target = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined;
  if (target?.protocol === "http:" || target?.protocol === "https:") return target;
  throw new WasmError("unreachable", `Get "${shownUrl(from)}": redirected to something that is neither http nor https`);
}

function postedElsewhere(from: URL): WasmError {
  return new WasmError(
    "blocked",
    `Post "${shownUrl(from)}": redirected to another host, which must not see what is posted`,
  );
}

function withoutCredentials(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== "authorization"));
}
