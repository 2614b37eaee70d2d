import { join } from "node:path";
import { bundleProgram } from "../process/bundle-program.ts";

/** Compiles `owner.ts` into the folder and returns the file to run with Node. */
export async function buildEnvoyOwner(folder: string): Promise<string> {
  const outfile = join(folder, "owner.mjs");
  await bundleProgram("test/support/envoy/owner.ts", { outfile });
  return outfile;
}
