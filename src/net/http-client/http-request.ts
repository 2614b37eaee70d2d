import type { Readable } from "node:stream";
import { abortAfter, type TimedAbort } from "../../base/abort-after.ts";
import { errorMessage } from "../../base/coded-error.ts";
import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import { type Exchange, exchange, type HttpConnection, type HttpHeaders, type StreamedResponse } from "./exchange.ts";
import { followRedirects, type Redirect, type RedirectRules, redirectedRequest } from "./follow-redirects.ts";
import { HttpError, type HttpErrorCode } from "./http-error.ts";

export interface HttpRequestOptions extends HttpConnection, Pick<Exchange, "maxHeadBytes" | "target"> {
  readonly url: string | URL;
  /** Sent as given. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** From the first packet to the last byte of the body (of `openHttp`: to the head), redirects included. */
  readonly timeoutMs?: number;
  /** The same for each request, without the redirects that follow it. */
  readonly hopTimeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Redirects are not followed when absent. */
  readonly redirects?: RedirectRules;
  /** Asked before each request, also those of redirects: a throw refuses it, what it returns is for that request only. */
  forHop?(url: URL, by: Redirect | undefined): HopOptions | Promise<HopOptions>;
}

/** What may differ from one request to the next. */
export interface HopOptions extends HttpConnection, Partial<Pick<Exchange, "target" | "headers">> {}

export interface BodyLimits {
  /** A longer body rejects, or is cut. */
  readonly maxBytes?: number;
  readonly truncates?: boolean;
  /** Whose bodies are read; those of all responses when absent. */
  readsBody?(status: number): boolean;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly url: URL;
  readonly bytes: Buffer;
  /** As UTF-8. */
  readonly body: string;
}

const DEFAULT_MAX_BYTES = 1024 * 1024;

/**
 * An HTTP request whose response is read into memory, by default on a connection of its own. Rejects with an `HttpError`, and with what
 * the caller's own functions throw. Uses node's http modules and not `fetch`, whose first use costs a sidecar several megabytes.
 */
export async function httpRequest(options: HttpRequestOptions & BodyLimits): Promise<HttpResponse> {
  using limit = abortAfter(options.timeoutMs ?? MAX_TIMER_MS, options.signal);
  const { response, fail, ended } = await send(options, limit);
  using _ = ended;
  const { status, headers, url } = response;
  const bytes = await collect(response, options).catch((cause: unknown) => {
    throw fail("unreachable", errorMessage(cause), cause);
  });
  if (bytes === undefined) throw fail("too-large", "the answer is too large");
  return {
    status,
    headers,
    url,
    bytes,
    get body() {
      return bytes.toString("utf8");
    },
  };
}

/** As `httpRequest`, but resolves with the head: the caller reads the body, for which only the signal is a limit. */
export async function openHttp(options: HttpRequestOptions): Promise<StreamedResponse> {
  using limit = abortAfter(options.timeoutMs ?? MAX_TIMER_MS, options.signal);
  const { response, ended } = await send(options, limit);
  ended?.end();
  const { signal } = options;
  const onAbort = () => void response.body.destroy(signal?.reason instanceof Error ? signal.reason : undefined);
  signal?.addEventListener("abort", onAbort, { once: true });
  response.body.once("close", () => signal?.removeEventListener("abort", onAbort));
  return response;
}

interface Sent {
  readonly response: StreamedResponse;
  /** A failure from here on, in the words of the limit that was reached, if one was. */
  fail(code: HttpErrorCode, reason: string, cause?: unknown): HttpError;
  /** The last request's own limit, which also holds for its body. */
  readonly ended: TimedAbort | undefined;
}

async function send(options: HttpRequestOptions, limit: TimedAbort): Promise<Sent> {
  const { method = "GET", headers = {}, body, redirects, forHop, hopTimeoutMs } = options;
  const first = parseUrl(options.url);
  let request = { method, headers, body };
  let hopLimit: TimedAbort | undefined;
  const limited = (error: HttpError): HttpError => {
    const { url = first, phase, cause } = error;
    const late = (code: "timeout" | "cancelled", reason: string) =>
      new HttpError(code, { method: request.method, url, reason, phase, cause });
    if (limit.expired) return late("timeout", `no answer within ${options.timeoutMs} ms`);
    if (options.signal?.aborted) return late("cancelled", "cancelled");
    return hopLimit?.expired ? late("timeout", `no answer within ${hopTimeoutMs} ms`) : error;
  };
  const sendOne = async (url: URL, by: Redirect | undefined) => {
    if (by !== undefined) request = redirectedRequest(request, by, redirects?.dropsAcrossOrigins);
    hopLimit?.end();
    hopLimit = hopTimeoutMs === undefined ? undefined : abortAfter(hopTimeoutMs, limit.signal);
    const { signal } = hopLimit ?? limit;
    const hop = await forHop?.(url, by);
    const cancelled = { method, url, reason: "cancelled", phase: "head", cause: options.signal?.reason } as const;
    if (signal.aborted) throw limited(new HttpError("cancelled", cancelled));
    return exchange({ ...options, ...request, ...hop, url }, signal).catch((failure: unknown) => {
      throw failure instanceof HttpError ? limited(failure) : failure;
    });
  };
  try {
    const response =
      redirects === undefined ? await sendOne(first, undefined) : await followRedirects(first, redirects, sendOne);
    const fail: Sent["fail"] = (code, reason, cause) =>
      limited(new HttpError(code, { method: request.method, url: response.url, reason, phase: "body", cause }));
    return { response, fail, ended: hopLimit };
  } catch (failure) {
    hopLimit?.end();
    throw failure;
  }
}

function parseUrl(given: string | URL): URL {
  const url = typeof given === "string" ? (URL.canParse(given) ? new URL(given) : undefined) : given;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new HttpError("invalid-url", `not an http or https address: ${JSON.stringify(given)}`);
}

/** With a known length into one piece of memory: modules are large, and joining chunks would take them twice. */
async function collect(
  response: StreamedResponse,
  options: HttpRequestOptions & BodyLimits,
): Promise<Buffer | undefined> {
  const { maxBytes = DEFAULT_MAX_BYTES, truncates = false, readsBody } = options;
  if (readsBody?.(response.status) === false) {
    response.discard();
    return Buffer.alloc(0);
  }
  const announced = options.method === "HEAD" ? 0 : Number(response.headers["content-length"] ?? 0);
  if (announced > maxBytes && !truncates) {
    response.discard();
    return undefined;
  }
  const whole =
    announced > 0 && announced <= maxBytes && maxBytes < Number.POSITIVE_INFINITY
      ? Buffer.allocUnsafeSlow(announced)
      : undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response.body as Readable & AsyncIterable<Buffer>) {
    const room = maxBytes - size;
    const part = chunk.length > room ? chunk.subarray(0, room) : chunk;
    if (part !== chunk && !truncates) {
      response.discard();
      return undefined;
    }
    if (whole === undefined) chunks.push(part);
    else part.copy(whole, size);
    size += part.length;
    if (part !== chunk) break;
  }
  if (size >= maxBytes) response.discard();
  return whole?.subarray(0, size) ?? Buffer.concat(chunks, size);
}
