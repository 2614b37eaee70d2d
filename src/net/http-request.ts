import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { CodedError } from "../base/coded-error.ts";
import { publicRoots } from "./tls/public-roots.ts";

/** The exchange itself failed. An answer with an error status is an answer. Messages name the address, never headers or bodies. */
export class HttpError extends CodedError<"invalid-url" | "unreachable" | "timeout" | "too-large" | "cancelled"> {}

export interface HttpRequest {
  readonly url: string;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** From the first packet to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly maxBytes?: number;
  /** PEM roots for https; the public ones when absent. */
  readonly ca?: string;
  readonly signal?: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

const DEFAULT_MAX_BYTES = 1024 * 1024;

/**
 * One small HTTP exchange on a connection of its own, redirects not followed. Uses node's http modules and not `fetch`, whose first
 * use costs a sidecar several megabytes.
 */
export function httpRequest(options: HttpRequest): Promise<HttpAnswer> {
  const target = parseTarget(options.url);
  return new Promise((resolve, reject) => {
    const fail = (code: HttpError["code"], what: string, cause?: unknown) => {
      finish();
      outgoing.destroy();
      reject(new HttpError(code, `${options.method ?? "GET"} ${shown(target)}: ${what}`, { cause }));
    };
    const onAbort = () => fail("cancelled", "cancelled");
    const finish = () => {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", onAbort);
    };
    const send = target.protocol === "https:" ? requestHttps : requestHttp;
    const outgoing = send(target, {
      method: options.method ?? "GET",
      headers: { ...options.headers, ...bodyLength(options.body) },
      agent: false,
      ...(target.protocol === "https:" &&
        (options.ca === undefined ? { secureContext: publicRoots() } : { ca: options.ca })),
    });
    const timer = setTimeout(() => fail("timeout", `no answer within ${options.timeoutMs} ms`), options.timeoutMs);
    outgoing.on("error", (cause) => fail("unreachable", cause.message, cause));
    outgoing.on("response", (answer) => {
      const chunks: Buffer[] = [];
      let size = 0;
      answer.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > (options.maxBytes ?? DEFAULT_MAX_BYTES)) fail("too-large", "the answer is too large");
        else chunks.push(chunk);
      });
      answer.on("error", (cause) => fail("unreachable", cause.message, cause));
      answer.on("end", () => {
        finish();
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          body: Buffer.concat(chunks).toString("utf8"),
        });
      });
    });
    if (options.signal?.aborted) return onAbort();
    options.signal?.addEventListener("abort", onAbort, { once: true });
    outgoing.end(options.body);
  });
}

function parseTarget(url: string): URL {
  const target = URL.canParse(url) ? new URL(url) : undefined;
  if (target?.protocol === "http:" || target?.protocol === "https:") return target;
  throw new HttpError("invalid-url", `not an http or https address: ${JSON.stringify(url)}`);
}

/** Query strings and user names may carry secrets. */
function shown(target: URL): string {
  return `${target.protocol}//${target.host}${target.pathname}`;
}

function bodyLength(body: string | undefined): Record<string, string> {
  return body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
}
