import { gunzip as gunzipWithCallback } from "node:zlib";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { WasmError } from "../wasm-error.ts";

export function isGzip(bytes: Buffer): boolean {
  return bytes.length > 2 && bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/** Stops as soon as the output passes the limit: a small input may stand for any number of bytes. */
export function gunzip(bytes: Buffer, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    gunzipWithCallback(bytes, { maxOutputLength: Math.max(1, maxBytes) }, (failure, output) => {
      if (failure === null) resolve(output);
      else if (errorCode(failure) === "ERR_BUFFER_TOO_LARGE")
        reject(new WasmError("too-large", `unpacked, it is larger than the allowed ${maxBytes} bytes`));
      else reject(new WasmError("invalid-module", `not valid gzip: ${errorMessage(failure)}`, { cause: failure }));
    });
  });
}
