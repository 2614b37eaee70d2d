import type { LookupFunction } from "node:net";
import { CodedError, errorCode } from "../../base/coded-error.ts";
import { quoteGo } from "../../base/go-quote.ts";
import { dialFailureText } from "../../net/http-client/dial-failure.ts";
import type { Redirect } from "../../net/http-client/follow-redirects.ts";
import { HttpError } from "../../net/http-client/http-error.ts";
import { type HopOptions, httpRequest } from "../../net/http-client/http-request.ts";
import { lookupLocalhost } from "../../net/lookup-localhost.ts";

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
  /** As it came: profiles and protobuf are not text. */
  readonly bytes: Buffer;
}

const MAX_REQUESTS = 10;
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Node takes 16 kB for the headers of an answer, the reference's client a megabyte. */
const MAX_HEADER_BYTES = 1024 * 1024;
const HEADERS_LATE = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
const BODY_LATE = "context deadline exceeded (Client.Timeout or context cancellation while reading body)";
const BODY_CUT = "unexpected EOF";

/** One HTTP request, redirects followed, with the error texts of the reference's HTTP client. */
export async function sendRequest(options: LoopbackRequest): Promise<LoopbackResponse> {
  const method = options.method === "" ? "GET" : options.method;
  if (!METHOD.test(method)) throw new RequestError("invalid-method", `net/http: invalid method ${quoteGo(method)}`);
  const found = badEscape(options.url);
  if (found !== undefined)
    throw new RequestError("failed", `parse ${quoteGo(options.url)}: invalid URL escape ${quoteGo(found)}`);
  // Errors name the method the user gave, also after a redirect has changed it.
  const fail = failureOf(method);
  const problem = addressProblem(options.url);
  if (problem !== undefined) throw fail("failed", options.url, problem);
  let url = options.url;
  try {
    return await httpRequest({
      url,
      method,
      ...(options.body && { body: options.body }),
      ...(options.timeoutMs > 0 && { timeoutMs: options.timeoutMs }),
      maxBytes: Number.POSITIVE_INFINITY,
      maxHeadBytes: MAX_HEADER_BYTES,
      // A name that means this machine is tried on both families, independent of the hosts file.
      lookup: localLookup,
      redirects: { maxRequests: MAX_REQUESTS, allows: (redirect) => checkRedirect(redirect, url, fail) },
      forHop: async (hop, by): Promise<HopOptions> => {
        url = by === undefined ? options.url : hop.href;
        return { target: requestTarget(url), ...(hop.protocol === "https:" && { tls: await runtimeRoots() }) };
      },
    });
  } catch (thrown) {
    throw thrown instanceof HttpError ? failureText(thrown, url, fail) : thrown;
  }
}

function checkRedirect({ location, to, followed }: Redirect, from: string, fail: Fail): boolean {
  if (followed === MAX_REQUESTS - 1) throw fail("failed", location, `stopped after ${MAX_REQUESTS} redirects`);
  if (to === undefined) throw fail("failed", from, `failed to parse Location header ${quoteGo(location)}`);
  const problem = addressProblem(to.href);
  if (problem !== undefined) throw fail("failed", to.href, problem);
  return true;
}

function failureText(thrown: HttpError, url: string, fail: Fail): RequestError {
  const isLate = thrown.code === "timeout";
  const code = isLate ? "timeout" : "failed";
  const isReset = errorCode(thrown.cause) === "ECONNRESET";
  // Once the headers are there the reference's client no longer names the request.
  if (thrown.phase === "body")
    return new RequestError(code, isLate ? BODY_LATE : isReset ? BODY_CUT : thrown.reason, { cause: thrown });
  const reason = dialFailureText(thrown.dial) ?? (isReset ? "EOF" : thrown.reason);
  return fail(code, url, isLate ? HEADERS_LATE : reason, thrown);
}

/** The roots that OpenSSL is configured with, where an operator may have added those of a server of his own. */
async function runtimeRoots(): Promise<HopOptions["tls"]> {
  const { createSecureContext } = await import("node:tls");
  return { secureContext: createSecureContext() };
}

/** The first percent sign of the path that begins no escape, with what follows it; in a query anything goes. */
function badEscape(url: string): string | undefined {
  const [path = ""] = url.split(/[?#]/);
  return /%(?![0-9a-fA-F]{2}).{0,2}/s.exec(path)?.[0];
}

function addressProblem(url: string): string | undefined {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase() ?? "";
  if (scheme !== "http" && scheme !== "https") return `unsupported protocol scheme ${quoteGo(scheme)}`;
  if (URL.canParse(url)) return undefined;
  const port = /^[a-z]+:\/\/[^/?#]*:(\d+)(?:[/?#]|$)/i.exec(url)?.[1];
  return port === undefined ? "invalid URL" : `dial tcp: address ${port}: invalid port`;
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

/** `localhost` needs no resolver; other names go through the usual one. */
const localLookup: LookupFunction = (hostname, options, callback) => {
  if (hostname === "localhost") return lookupLocalhost(hostname, options, callback);
  import("node:dns").then(({ lookup }) => lookup(hostname, options, callback));
};

type Fail = ReturnType<typeof failureOf>;

/** Errors begin with the method, of which only the first letter keeps its case. */
function failureOf(method: string) {
  const verb = method.charAt(0) + method.slice(1).toLowerCase();
  return (code: "failed" | "timeout", url: string, reason: string, cause?: unknown) =>
    new RequestError(code, `${verb} ${quoteGo(url)}: ${reason}`, { cause });
}
