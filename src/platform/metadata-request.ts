import { type IncomingHttpHeaders, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { abortAfter } from "../base/abort-after.ts";
import { CodedError } from "../base/coded-error.ts";
import { publicRoots } from "../net/tls/public-roots.ts";

export class MetadataError extends CodedError<"unexpected-status" | "too-large"> {}

export interface MetadataRequest {
  readonly method?: "GET" | "PUT";
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface MetadataAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Metadata is a few kilobytes; more is somebody else on that address. */
const MAX_BYTES = 1024 * 1024;

/** One request to a metadata server; rejects on a failed connection, on the timeout, on an abort and on an endless answer. */
export async function metadataRequest(url: string, options: MetadataRequest): Promise<MetadataAnswer> {
  using limit = abortAfter(options.timeoutMs, options.signal);
  return await send(url, options, limit.signal);
}

function send(
  url: string,
  { method = "GET", headers = {} }: MetadataRequest,
  signal: AbortSignal,
): Promise<MetadataAnswer> {
  return new Promise((resolve, reject) => {
    const isSecure = url.startsWith("https:");
    const start = isSecure ? requestHttps : requestHttp;
    const roots = isSecure ? { secureContext: publicRoots() } : {};
    // No shared agent: nothing of the detection may keep a connection open afterwards.
    const request = start(url, { method, headers, signal, agent: false, ...roots }, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_BYTES)
          request.destroy(new MetadataError("too-large", `answer of ${url} exceeds ${MAX_BYTES} bytes`));
        chunks.push(chunk);
      });
      response.on("error", reject);
      response.on("end", () => {
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString("utf8"),
        });
      });
    });
    request.on("error", reject);
    request.end();
  });
}

/** The body of a 200 answer. */
export async function metadataText(url: string, options: MetadataRequest): Promise<string> {
  const { status, body } = await metadataRequest(url, options);
  if (status !== 200) throw new MetadataError("unexpected-status", `${url} answered ${status}`);
  return body;
}
