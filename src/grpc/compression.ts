import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { errorCode, errorMessage } from "../base/coded-error.ts";
import { GrpcError } from "./status.ts";

export type Encoding = "identity" | "gzip";

/** What we announce and understand. We never compress what we send: our peers are near, and CPU time is dearer there than bytes. */
export const ACCEPTED_ENCODINGS = "identity,gzip";

const gunzipAsync = promisify(gunzip);

/** The `grpc-encoding` header; undefined when it names something we cannot read. */
export function parseEncoding(header: string | undefined): Encoding | undefined {
  if (header === undefined || header === "" || header === "identity") return "identity";
  return header === "gzip" ? "gzip" : undefined;
}

/** The limit holds for the result, so that a small frame cannot unfold into all memory. */
export async function decompress(bytes: Buffer, encoding: Encoding | undefined, maxBytes: number): Promise<Buffer> {
  if (encoding !== "gzip") {
    throw new GrpcError("INTERNAL", "grpc: compressed flag set with identity or empty encoding");
  }
  try {
    return await gunzipAsync(bytes, { maxOutputLength: Math.max(1, maxBytes) });
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
