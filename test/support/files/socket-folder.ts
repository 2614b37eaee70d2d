import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A short path for a socket, gone with the block. */
export function socketFolder(): { readonly path: string } & Disposable {
  const folder = mkdtempSync(join(tmpdir(), "xds-"));
  return { path: join(folder, "sub", "XDS"), [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}
