import type { LookupFunction } from "node:net";
import { createGunzip } from "node:zlib";
import { CodedError, errorCode, errorMessage } from "../../base/coded-error.ts";
import { type BodyStream, type Http1Answer, requestHttp1 } from "../../net/http1/request-http1.ts";
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
  let url = options.url;
  for (let hops = 0; ; hops++) {
    const answer = await ask(url, options);
    const location = answer.headers.get("location");
    const isRedirect = [301, 302, 303, 307, 308].includes(answer.status) && location !== undefined;
    if (!isRedirect) return toBody(answer, options);
    answer.body.destroy();
    // Only plain HTTP: metrics of the same machine have no reason to be anything else.
    if (hops === MAX_REQUESTS - 1 || !URL.canParse(location, url) || new URL(location, url).protocol !== "http:")
      throw new ScrapeError("redirects", `error scraping ${options.url}: stopped after ${hops + 1} redirects`);
    url = new URL(location, url).href;
  }
}

/** Both loopback addresses, without asking a resolver that may be captured or absent. */
export const loopbackLookup: LookupFunction = (_host, options, done) => {
  if (options.all)
    done(null, [
      { address: "127.0.0.1", family: 4 },
      { address: "::1", family: 6 },
    ]);
  else done(null, "127.0.0.1", 4);
};

async function ask(url: string, { headers, stallMs, signal, pool }: SourceRequest): Promise<Http1Answer> {
  const target = new URL(url);
  const isLocal = target.hostname === "localhost";
  try {
    return await requestHttp1({
      url: target,
      headers,
      stallMs,
      signal,
      pool,
      ...(isLocal && { lookup: loopbackLookup }),
    });
  } catch (thrown) {
    throw failure(url, thrown);
  }
}

function toBody({ status, headers, body }: Http1Answer, { url }: SourceRequest): SourceBody {
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
  const target = new URL(url);
  const words =
    errorCode(thrown) === "ECONNREFUSED"
      ? `dial tcp ${target.host}: connect: connection refused`
      : errorMessage(thrown);
  const code = errorCode(thrown) === "timeout" ? "timeout" : "unreachable";
  return new ScrapeError(code, `error scraping ${url}: Get ${JSON.stringify(url)}: ${words}`, { cause: thrown });
}
