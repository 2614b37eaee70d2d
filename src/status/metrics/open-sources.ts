import type { HttpRequest } from "../../net/http-server/http-types.ts";
import { type AnswerFormat, acceptFormats, formatOf, type SourceKind, TEXT_ANSWER } from "../core/formats.ts";
import type { BlockPool } from "./block-pool.ts";
import { fetchSource, ScrapeError, type SourceBody } from "./fetch-source.ts";
import { type BodyHead, readHead } from "./read-body.ts";
import type { ScrapeLimits } from "./scrape-limits.ts";

/** Something that metrics are scraped from. */
export interface ScrapeSource {
  readonly kind: SourceKind;
  readonly url: string;
  /** For log lines, where there are several applications. */
  readonly name: string | undefined;
  /** A larger body is refused when announced, and otherwise cut. */
  readonly maxBytes: number;
}

/** An answer whose beginning is in memory. */
export interface OpenSource {
  readonly source: ScrapeSource;
  readonly body: SourceBody;
  readonly head: BodyHead;
  readonly answer: AnswerFormat;
}

/** How much of a body is looked at as a whole. */
const HEAD_BYTES = 512 * 1024;
const FORWARDED = ["user-agent", "x-prometheus-scrape-timeout-seconds"] as const;

export interface OpenContext {
  readonly request: Pick<HttpRequest, "headers">;
  readonly limits: ScrapeLimits;
  readonly signal: AbortSignal;
  /** False: the scraper's Accept header goes on as it is. */
  readonly filtersAccept: boolean;
  readonly pool: BlockPool;
  warn(text: string): void;
}

export async function openSource(source: ScrapeSource, context: OpenContext): Promise<OpenSource> {
  const { request, limits, signal, pool } = context;
  const asked = request.headers.accept;
  const asIs = context.filtersAccept ? undefined : asked;
  const { accept, warning } =
    asIs === undefined ? acceptFormats(asked, source.kind) : { accept: asIs, warning: undefined };
  if (warning !== undefined) context.warn(warning);
  if (limits.warning !== undefined) context.warn(limits.warning);
  const headers: Record<string, string> = { accept };
  // Envoy on the same machine would only burn cycles on compression.
  if (source.kind === "application") headers["accept-encoding"] = "gzip";
  for (const name of FORWARDED) {
    const value = request.headers[name];
    if (value !== undefined) headers[name] = value;
  }
  const body = await fetchSource({ url: source.url, headers, stallMs: limits.stallMs, signal, pool });
  const answer = source.kind === "envoy" ? TEXT_ANSWER : formatOf(body.contentType);
  if (answer === undefined || (body.length ?? 0) > source.maxBytes) {
    body.stream.on("error", () => undefined);
    body.stream.destroy();
    throw answer === undefined
      ? new ScrapeError("status", `error scraping ${source.url}: ${body.contentType} is not a text format`)
      : tooLarge(source);
  }
  const head = await readHead(body.stream, Math.min(HEAD_BYTES, source.maxBytes), pool);
  return { source, body, head, answer };
}

export function tooLarge(source: ScrapeSource): ScrapeError {
  return new ScrapeError("too-large", `error scraping ${source.url}: response exceeds ${source.maxBytes} bytes`);
}
