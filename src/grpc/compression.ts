import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { errorCode, errorMessage } from "../base/coded-error.ts";
import { notCompressed } from "./frame-scanner.ts";
import { GrpcError } from "./status.ts";

export type Encoding = "identity" | "gzip";

/** What we announce and understand. We compress only what is sent to many clients, see compression-pieces.ts. */
export const ACCEPTED_ENCODINGS = "identity,gzip";

const TRAILER_BYTES = 8;
const MIN_CHUNK_BYTES = 16 * 1024;
const MAX_CHUNK_BYTES = 4 * 1024 * 1024;
/** More than this deflate cannot make of one byte. */
const MAX_RATIO = 1032;

const gunzipAsync = promisify(gunzip);

/** The `grpc-encoding` header; undefined when it names something we cannot read. */
export function parseEncoding(header: string | undefined): Encoding | undefined {
  if (header === undefined || header === "" || header === "identity") return "identity";
  return header === "gzip" ? "gzip" : undefined;
}

/** Whether a peer that sent this `grpc-accept-encoding` takes gzip. */
export function acceptsGzip(header: string | undefined): boolean {
  return (header ?? "").split(",").some((name) => name.trim() === "gzip");
}

/** The limit holds for the result, so that a small frame cannot unfold into all memory. */
export async function decompress(bytes: Buffer, encoding: Encoding | undefined, maxBytes: number): Promise<Buffer> {
  if (encoding !== "gzip") throw notCompressed();
  try {
    return await gunzipAsync(bytes, {
      maxOutputLength: Math.max(1, maxBytes),
      chunkSize: likelyLength(bytes, maxBytes),
    });
  } catch (cause) {
    if (errorCode(cause) === "ERR_BUFFER_TOO_LARGE") {
      const text = `grpc: received message after decompression larger than max ${maxBytes}`;
      throw new GrpcError("RESOURCE_EXHAUSTED", text, { cause });
    }
    throw new GrpcError("INTERNAL", `grpc: failed to decompress the received message: ${errorMessage(cause)}`, {
      cause,
    });
  }
}

/**
 * Each chunk of output is one trip to another thread: one is enough when it is as large as gzip says at its end, if that can be true, and
 * a byte larger, because a full one is followed by another.
 */
function likelyLength(bytes: Buffer, maxBytes: number): number {
  const named = bytes.length < TRAILER_BYTES ? 0 : bytes.readUInt32LE(bytes.length - 4);
  const possible = Math.min(named, maxBytes, bytes.length * MAX_RATIO, MAX_CHUNK_BYTES);
  return Math.max(MIN_CHUNK_BYTES, possible + 1);
}
