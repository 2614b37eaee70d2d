// Bundles a TypeScript file and imports it: the way scripts reach code that Node cannot read without a build.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = resolve(import.meta.dirname, "..");

/** The module's exports. `import.meta.dirname` of bundled files is the folder of `entry`, as it would be without bundling. */
export async function importBundled(entry) {
  // Below node_modules, so that packages which stay outside the bundle are found from there.
  mkdirSync(join(root, "node_modules/.cache"), { recursive: true });
  const scratch = mkdtempSync(join(root, "node_modules/.cache/bundle-"));
  try {
    const outfile = join(scratch, "bundle.mjs");
    await build({
      absWorkingDir: root,
      entryPoints: [entry],
      outfile,
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20.19",
      external: ["esbuild", "@grpc/*"],
      define: { "import.meta.dirname": JSON.stringify(resolve(root, entry, "..")) },
      banner: {
        js: `import{createRequire as __r}from"node:module";const require=__r(${JSON.stringify(join(root, "package.json"))});`,
      },
      logLevel: "warning",
    });
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
