import { join } from "node:path";
import { build } from "esbuild";

/** Compiles `envoy-owner.ts` into the folder and returns the file to run with Node. */
export async function buildEnvoyOwner(folder: string): Promise<string> {
  const outfile = join(folder, "owner.mjs");
  await build({
    entryPoints: [join(import.meta.dirname, "envoy-owner.ts")],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "error",
  });
  return outfile;
}
