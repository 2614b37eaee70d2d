import type { Transform, Writable } from "node:stream";
import * as zlib from "node:zlib";

type ContentEncoding = "zstd" | "gzip";

/** Shorter bodies are not worth it. */
const MIN_ENCODED_BYTES = 1024;
/** Known to Node from 22.15 and 23.8 on; the types here are those of Node 20. */
const zstd = zlib as { createZstdCompress?: () => Transform; zstdCompressSync?: (bytes: Buffer) => Buffer };
const SUPPORTED: readonly ContentEncoding[] = zstd.createZstdCompress === undefined ? ["gzip"] : ["zstd", "gzip"];
/** Media types that are compressed already. */
const COMPRESSED = /^(?:video|audio)\/|^image\/jp|compress|zip|snappy|lzma|xz|zstd|brotli|stuffit/i;
/** Statistics shrink to a tenth already at the fastest level. */
const GZIP = { level: zlib.constants.Z_BEST_SPEED };

/** The best encoding both sides know; zstd on ties. Names that are unknown here, `*` and `identity` among them, do not count. */
export function chooseEncoding(
  header: string | undefined,
  supported: readonly ContentEncoding[] = SUPPORTED,
): ContentEncoding | undefined {
  let best: { readonly name: ContentEncoding; readonly quality: number } | undefined;
  for (const item of (header ?? "").split(",")) {
    const [rawName = "", ...parameters] = item.split(";").map((part) => part.trim());
    const name = supported.find((known) => known === rawName.toLowerCase());
    const quality = qualityOf(parameters);
    if (name === undefined || quality <= 0) continue;
    if (best === undefined || quality > best.quality || (quality === best.quality && name === "zstd"))
      best = { name, quality };
  }
  return best?.name;
}

/** The encoding that pays for a body at hand; undefined: sent as it is. */
export function encodingFor(
  accepted: string | undefined,
  body: Buffer,
  contentType: string | undefined,
): ContentEncoding | undefined {
  return body.length < MIN_ENCODED_BYTES || COMPRESSED.test(contentType ?? "") ? undefined : chooseEncoding(accepted);
}

export function encodeBody(body: Buffer, encoding: ContentEncoding): Buffer {
  return encoding === "zstd" && zstd.zstdCompressSync ? zstd.zstdCompressSync(body) : zlib.gzipSync(body, GZIP);
}

/** A compressor in front of a body that is written piece by piece; destroyed with it. */
export function openEncoder(output: Writable, encoding: ContentEncoding): Writable {
  const encoder = encoding === "zstd" && zstd.createZstdCompress ? zstd.createZstdCompress() : zlib.createGzip(GZIP);
  output.on("close", () => encoder.destroy());
  encoder.on("error", () => output.destroy());
  encoder.pipe(output);
  return encoder;
}

/** 0 rules an encoding out, and so does text that is not a number. */
function qualityOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => /^q\s*=/i.test(parameter));
  if (given === undefined) return 1;
  const text = given.slice(given.indexOf("=") + 1).trim();
  return /^\d*\.?\d+$|^\d+\.$/.test(text) ? Number(text) : 0;
}
