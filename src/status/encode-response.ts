import type { IncomingMessage, ServerResponse } from "node:http";
import type { Transform, Writable } from "node:stream";
import * as zlib from "node:zlib";
import { type ContentEncoding, chooseEncoding } from "./core/content-encoding.ts";

/** Shorter bodies are not worth it. */
const MIN_ENCODED_BYTES = 1024;

/** Known to Node from 22.15 and 23.8 on; the types here are those of Node 20. */
const zstd = zlib as { createZstdCompress?: () => Transform; zstdCompressSync?: (bytes: Buffer) => Buffer };
const SUPPORTED: readonly ContentEncoding[] = zstd.createZstdCompress === undefined ? ["gzip"] : ["zstd", "gzip"];
/** Media that are packed already. */
const PACKED = /^(?:video|audio)\/|^image\/jp|compress|zip|snappy|lzma|xz|zstd|brotli|stuffit/i;
/** Statistics shrink to a tenth already at the fastest level. */
const GZIP = { level: zlib.constants.Z_BEST_SPEED };

/** Where a streamed body is written: the response itself, or a compressor in front of it. */
export function openBody(request: IncomingMessage, response: ServerResponse): Writable {
  const encoding = request.method === "HEAD" ? undefined : chooseEncoding(acceptedBy(request), SUPPORTED);
  if (encoding === undefined) return response;
  response.setHeader("Content-Encoding", encoding);
  const encoder = encoding === "zstd" && zstd.createZstdCompress ? zstd.createZstdCompress() : zlib.createGzip(GZIP);
  response.on("close", () => encoder.destroy());
  encoder.on("error", () => response.destroy());
  encoder.pipe(response);
  return encoder;
}

/** A body that is at hand as a whole, packed when the caller wants that and it pays. Sets Content-Encoding. */
export function encodeBody(response: ServerResponse, body: Buffer): Buffer {
  if (body.length < MIN_ENCODED_BYTES || response.req.method === "HEAD" || response.hasHeader("Content-Encoding"))
    return body;
  const encoding = chooseEncoding(acceptedBy(response.req), SUPPORTED);
  if (encoding === undefined || PACKED.test(String(response.getHeader("Content-Type") ?? ""))) return body;
  response.setHeader("Content-Encoding", encoding);
  return encoding === "zstd" && zstd.zstdCompressSync ? zstd.zstdCompressSync(body) : zlib.gzipSync(body, GZIP);
}

function acceptedBy(request: IncomingMessage): string | undefined {
  const value = request.headers["accept-encoding"];
  return Array.isArray(value) ? value.join(",") : value;
}
