import { createGunzip } from "node:zlib";
import { CodedError, errorCode, errorMessage } from "../../base/coded-error.ts";
import { dialFailureOf, dialFailureText } from "../../net/http-client/dial-failure.ts";
import { followRedirects, type Redirect } from "../../net/http-client/follow-redirects.ts";
import { type BodyStream, type Http1Response, requestHttp1 } from "../../net/http1/request-http1.ts";
import { lookupLocalhost } from "../../net/lookup-localhost.ts";
import type { BlockPool } from "./block-pool.ts";

export class ScrapeError extends CodedError<"unreachable" | "status" | "timeout" | "redirects" | "too-large"> {}

export interface SourceRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Silence on the connection for this long ends the scrape. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
  readonly pool: BlockPool;
}

export interface SourceBody {
  readonly contentType: string | undefined;
  /** As the source sent it, unpacked. */
  readonly stream: BodyStream;
  /** Bytes announced; undefined when the source does not say, or packs them. */
  readonly length: number | undefined;
}

/** The eleventh is not sent. */
const MAX_REQUESTS = 10;

/** Resolves with the answer's head. Its body ends with an error when the signal aborts, the source falls silent or breaks off. */
export async function fetchSource(options: SourceRequest): Promise<SourceBody> {
  const allows = ({ to, followed }: Redirect): boolean => {
    // Only plain HTTP: metrics of the same machine have no reason to be anything else.
    if (followed < MAX_REQUESTS - 1 && to?.protocol === "http:") return true;
    throw new ScrapeError("redirects", `error scraping ${options.url}: stopped after ${followed + 1} redirects`);
  };
  const answer = await followRedirects(new URL(options.url), { maxRequests: MAX_REQUESTS, allows }, async (url, by) => {
    const found = await ask(by === undefined ? options.url : url.href, options);
    return { ...found, location: found.headers.get("location"), discard: () => void found.body.destroy() };
  });
  return toBody(answer, options);
}

async function ask(url: string, { headers, stallMs, signal, pool }: SourceRequest): Promise<Http1Response> {
  const target = new URL(url);
  const isLocal = target.hostname === "localhost";
  try {
    return await requestHttp1({
      url: target,
      headers,
      stallMs,
      signal,
      pool,
      ...(isLocal && { lookup: lookupLocalhost }),
    });
  } catch (thrown) {
    throw failure(url, thrown);
  }
}

function toBody({ status, headers, body }: Http1Response, { url }: SourceRequest): SourceBody {
  if (status !== 200) {
    body.destroy();
    throw new ScrapeError("status", `error scraping ${url}, status code: ${status}`);
  }
  const contentType = headers.get("content-type");
  const announced = Number(headers.get("content-length") ?? Number.NaN);
  if (headers.get("content-encoding")?.toLowerCase() !== "gzip")
    return { contentType, stream: body, length: Number.isFinite(announced) ? announced : undefined };
  return { contentType, stream: unpack(body), length: undefined };
}

function unpack(body: BodyStream): BodyStream {
  const unpacked = createGunzip();
  body.on("data", (chunk) => {
    // A copy: the unpacking happens later, on another thread.
    if (unpacked.write(Buffer.from(chunk))) return;
    body.pause();
    unpacked.once("drain", () => body.resume());
  });
  body.on("end", () => unpacked.end());
  body.on("close", () => body.errored !== null && unpacked.destroy(body.errored));
  unpacked.on("close", () => body.destroy());
  unpacked.on("error", () => undefined);
  body.resume();
  return unpacked;
}

function failure(url: string, thrown: unknown): ScrapeError {
  const words = dialFailureText(dialFailureOf(thrown), new URL(url).host) ?? errorMessage(thrown);
  const code = errorCode(thrown) === "timeout" ? "timeout" : "unreachable";
  return new ScrapeError(code, `error scraping ${url}: Get ${JSON.stringify(url)}: ${words}`, { cause: thrown });
}
