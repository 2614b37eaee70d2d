import { isUtf8 } from "node:buffer";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { type HttpAnswer, type HttpCall, type HttpHandler, HttpProblem, text } from "./http-types.ts";

/** By path; one that ends in `/` takes everything below it, the longest wins. */
export type Routes = ReadonlyMap<string, HttpHandler>;

const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** The answer to a call; undefined stands for one whose path cannot be understood. */
export async function answerCall(call: HttpCall | undefined, routes: Routes, log: Logger): Promise<HttpAnswer> {
  try {
    const handler = call === undefined ? undefined : find(routes, call.path);
    return call === undefined || handler === undefined ? text(404, "404 page not found") : await handler(call);
  } catch (thrown) {
    if (thrown instanceof HttpProblem) return text(thrown.status, thrown.message);
    log.error("request failed", { path: call?.path, error: errorMessage(thrown) });
    return text(500, "Internal Server Error");
  }
}

/** A request of either version of HTTP as pages see it; undefined when its target is no path. */
export function toCall(request: {
  readonly method: string | undefined;
  readonly target: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly peerAddress: string | undefined;
  readonly body: AsyncIterable<unknown>;
}): HttpCall | undefined {
  const target = request.target ?? "/";
  if (!URL.canParse(target, "http://localhost")) return undefined;
  const url = new URL(target, "http://localhost");
  return {
    method: request.method ?? "GET",
    path: url.pathname,
    query: url.searchParams,
    headers: flatten(request.headers),
    peerAddress: request.peerAddress ?? "",
    body: () => readBody(request.body),
  };
}

/** Header lines of an answer. */
export function answerHeaders(answer: HttpAnswer, length: number): Readonly<Record<string, string | number>> {
  return {
    ...(answer.contentType === undefined ? {} : { "Content-Type": answer.contentType }),
    "X-Content-Type-Options": "nosniff",
    "Content-Length": length,
    ...answer.headers,
  };
}

function find(routes: Routes, path: string): HttpHandler | undefined {
  const exact = routes.get(path);
  if (exact !== undefined) return exact;
  const [longest] = [...routes.keys()]
    .filter((route) => route.endsWith("/") && path.startsWith(route))
    .sort((a, b) => b.length - a.length);
  return longest === undefined ? undefined : routes.get(longest);
}

async function readBody(body: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += (chunk as Buffer).length;
    if (size > MAX_BODY_BYTES) throw new HttpProblem(413, `the body is larger than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk as Buffer);
  }
  const bytes = Buffer.concat(chunks);
  if (!isUtf8(bytes)) throw new HttpProblem(400, "the body is not UTF-8 text");
  return bytes.toString("utf8");
}

function flatten(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value]),
  );
}
