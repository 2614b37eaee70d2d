import { WasmError } from "../wasm-error.ts";
import { gunzip } from "./gunzip.ts";
import { tarEntries } from "./tar-entries.ts";

const PLUGIN_FILE = "plugin.wasm";

/** The plugin in an image layer (tar.gz), in any folder. */
export async function extractPlugin(layer: Buffer, maxBytes: number): Promise<Buffer> {
  for (const { name, data } of tarEntries(await gunzip(layer, maxBytes))) {
    if (name.slice(name.lastIndexOf("/") + 1) === PLUGIN_FILE) return data;
  }
  throw new WasmError("invalid-module", `${PLUGIN_FILE} not found in the archive`);
}
