import { type IncomingMessage, request } from "node:http";
import type { LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CodedError, errorCode, errorMessage } from "../../base/coded-error.ts";

export class ScrapeError extends CodedError<"unreachable" | "status" | "timeout" | "redirects" | "too-large"> {}

export interface SourceRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Silence on the connection for this long ends the scrape. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
}

export interface SourceBody {
  readonly contentType: string | undefined;
  /** As the source sent it, unpacked. */
  readonly stream: Readable;
  /** Bytes announced; undefined when the source does not say, or packs them. */
  readonly length: number | undefined;
}

const MAX_REDIRECTS = 10;

/** Resolves with the answer's head. Its body ends with an error when the signal aborts, the source falls silent or breaks off. */
export async function fetchSource(options: SourceRequest): Promise<SourceBody> {
  let url = options.url;
  for (let hops = 0; ; hops++) {
    const answer = await ask(url, options);
    const location = answer.headers.location;
    const isRedirect = [301, 302, 303, 307, 308].includes(answer.statusCode ?? 0) && location !== undefined;
    if (!isRedirect) return toBody(answer, options);
    answer.destroy();
    if (hops === MAX_REDIRECTS || !URL.canParse(location, url))
      throw new ScrapeError("redirects", `error scraping ${options.url}: stopped after ${hops} redirects`);
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

function ask(url: string, { headers, stallMs, signal }: SourceRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const target = new URL(url);
    const isLocal = target.hostname === "localhost";
    const outgoing = request(target, {
      headers,
      agent: false,
      ...(isLocal && { lookup: loopbackLookup }),
    });
    const abort = () => outgoing.destroy(new ScrapeError("timeout", "context deadline exceeded"));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    outgoing.on("close", () => signal.removeEventListener("abort", abort));
    outgoing.setTimeout(stallMs, () => outgoing.destroy(new ScrapeError("timeout", `nothing came for ${stallMs} ms`)));
    outgoing.on("error", (thrown) => reject(failure(url, thrown)));
    outgoing.on("response", resolve);
    outgoing.end();
  });
}

function toBody(answer: IncomingMessage, { url }: SourceRequest): SourceBody {
  if (answer.statusCode !== 200) {
    answer.destroy();
    throw new ScrapeError("status", `error scraping ${url}, status code: ${answer.statusCode}`);
  }
  const contentType = answer.headers["content-type"];
  const announced = Number(answer.headers["content-length"]);
  if (answer.headers["content-encoding"]?.toLowerCase() !== "gzip")
    return { contentType, stream: answer, length: Number.isFinite(announced) ? announced : undefined };
  const unpacked = createGunzip();
  answer.on("error", (thrown) => unpacked.destroy(thrown));
  unpacked.on("close", () => answer.destroy());
  return { contentType, stream: answer.pipe(unpacked), length: undefined };
}

function failure(url: string, thrown: unknown): ScrapeError {
  const target = new URL(url);
  const words =
    errorCode(thrown) === "ECONNREFUSED"
      ? `dial tcp ${target.host}: connect: connection refused`
      : // Both families were tried and each has its own error.
        thrown instanceof AggregateError
        ? thrown.errors.map(errorMessage).join("; ")
        : errorMessage(thrown);
  const code = thrown instanceof ScrapeError ? thrown.code : "unreachable";
  return new ScrapeError(code, `error scraping ${url}: Get ${JSON.stringify(url)}: ${words}`, { cause: thrown });
}
