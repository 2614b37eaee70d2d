import { WasmError } from "../wasm-error.ts";
import { gunzip, isGzip } from "./gunzip.ts";
import { isTar, tarEntries } from "./tar-entries.ts";

const MAGIC = Buffer.from([0x00, 0x61, 0x73, 0x6d]);
const MIN_MODULE_BYTES = 8;
/** A module is published as it is, as tar, gz or tar.gz. Archives that unpack to themselves never end. */
const MAX_WRAPPINGS = 4;

export function isWasmModule(bytes: Buffer): boolean {
  return bytes.length >= MIN_MODULE_BYTES && bytes.subarray(0, MAGIC.length).equals(MAGIC);
}

/**
 * Takes gzip and tar off until a module shows. What is neither, or is broken, is given back as it came: its checksum and the missing
 * magic number then tell what is wrong with it. Limits are another matter and reject.
 */
export async function unwrapModule(original: Buffer, maxBytes: number): Promise<Buffer> {
  let bytes = original;
  for (let depth = 0; depth <= MAX_WRAPPINGS; depth += 1) {
    if (isWasmModule(bytes)) return bytes;
    const inner = await unwrapOnce(bytes, maxBytes);
    if (inner === undefined) return original;
    bytes = inner;
  }
  throw new WasmError("invalid-module", `the module is wrapped in more than ${MAX_WRAPPINGS} archives`);
}

async function unwrapOnce(bytes: Buffer, maxBytes: number): Promise<Buffer | undefined> {
  try {
    if (isGzip(bytes)) return await gunzip(bytes, maxBytes);
    if (!isTar(bytes)) return undefined;
    const first = tarEntries(bytes).next();
    return first.done ? undefined : first.value.data;
  } catch (failure) {
    if (failure instanceof WasmError && failure.code === "too-large") throw failure;
    return undefined;
  }
}
