import { resolve } from "node:path";
import { type BuildOptions, build } from "esbuild";

/** Compiles a program, named from the project's root, as plain Node can load it: it knows nothing of the test runner's compiler. */
export async function bundleProgram(source: string, output: BuildOptions): Promise<void> {
  await build({
    entryPoints: [resolve(import.meta.dirname, "../../..", source)],
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "error",
    ...output,
  });
}
