import type { SecureContext } from "node:tls";
import type { Redirect } from "../../net/http-client/follow-redirects.ts";
import { HttpError, shownUrl } from "../../net/http-client/http-error.ts";
import { type HttpResponse, httpRequest } from "../../net/http-client/http-request.ts";
import type { ProxyRoute } from "../../net/http-proxy/proxy-route.ts";
import { WasmError } from "../wasm-error.ts";
import type { AddressRule } from "./address-rules.ts";
import { guardedLookup, type Resolve, refuseLiteral } from "./guarded-lookup.ts";

export interface HttpClientOptions {
  readonly isForbidden: AddressRule;
  /** Whether certificates of that host[:port] go unverified. */
  readonly isInsecure: (host: string) => boolean;
  /** For one exchange without the redirects that follow it; only the request's own signal when absent. */
  readonly timeoutMs?: number;
  /** For TLS: the roots that are trusted. */
  readonly roots: () => SecureContext;
  readonly route?: (url: URL, roots: () => SecureContext) => ProxyRoute | undefined;
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

/** An answer with an error status is an answer. Only the body of one with status 200 is read: others may be long or slow. */
export type HttpClient = (request: ClientRequest) => Promise<HttpResponse>;

const MAX_REDIRECTS = 10;

/** Every connection, also of a redirect, goes through the address rules at the moment it is made. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { isForbidden, isInsecure, roots } = options;
  const lookup = guardedLookup(isForbidden, options.resolve);
  return async (request) => {
    const { url: first, body, maxBytes, signal } = request;
    let proxy: ProxyRoute | undefined;
    try {
      return await httpRequest({
        url: first,
        method: body === undefined ? "GET" : "POST",
        headers: { "user-agent": "pilot-agent", ...request.headers },
        body,
        hopTimeoutMs: options.timeoutMs,
        signal,
        maxBytes,
        readsBody: (status) => status === 200,
        redirects: { maxRequests: MAX_REDIRECTS + 1, allows: redirectCheck(body) },
        forHop: (url) => {
          request.inspect?.(url);
          refuseLiteral(url, isForbidden);
          proxy = options.route?.(url, roots);
          const tls = { secureContext: url.protocol === "https:" ? roots() : undefined };
          return {
            proxy,
            // Behind a proxy the name is the proxy's to resolve, and its address rules apply instead of ours.
            lookup,
            tls: isInsecure(url.host) ? { ...tls, rejectUnauthorized: false } : tls,
          };
        },
      });
    } catch (thrown) {
      throw thrown instanceof HttpError ? toWasmError(thrown, request, options, proxy) : thrown;
    }
  };
}

/** Another host has no right to the credentials of the first one; what is posted is one. */
function redirectCheck(body: string | undefined): (redirect: Redirect) => boolean {
  let isPosted = body !== undefined;
  return ({ from, to, status }) => {
    if (to?.protocol !== "http:" && to?.protocol !== "https:")
      throw new WasmError(
        "unreachable",
        `Get "${shownUrl(from)}": redirected to something that is neither http nor https`,
      );
    // Other codes than these ask for the page that is there.
    isPosted &&= status === 307 || status === 308;
    if (isPosted && to.origin !== from.origin)
      throw new WasmError(
        "blocked",
        `Post "${shownUrl(from)}": redirected to another host, which must not see what is posted`,
      );
    return true;
  };
}

function toWasmError(
  thrown: HttpError,
  { url: first, maxBytes }: ClientRequest,
  { timeoutMs }: HttpClientOptions,
  proxy: ProxyRoute | undefined,
): WasmError {
  const { code, method, url = first, reason, cause = thrown } = thrown;
  if (cause instanceof WasmError) return cause;
  if (code === "too-large")
    return new WasmError("too-large", `the answer is larger than the allowed ${maxBytes} bytes`, { cause });
  if (code === "redirect")
    return new WasmError("unreachable", `Get "${shownUrl(first)}": stopped after ${MAX_REDIRECTS} redirects`);
  const fail = (kind: "timeout" | "unreachable", text: string) =>
    new WasmError(kind, `${method === "POST" ? "Post" : "Get"} "${shownUrl(url)}": ${text}`, { cause });
  if (code === "cancelled") return fail("timeout", "deadline exceeded");
  if (code === "timeout") return fail("timeout", `no answer within ${timeoutMs} ms`);
  return fail("unreachable", proxy?.kind === "forward" ? `the HTTP proxy ${proxy.shown}: ${reason}` : reason);
}
