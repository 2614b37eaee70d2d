// Bundles a TypeScript file and imports it: the way scripts reach code that Node cannot read without a build.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = resolve(import.meta.dirname, "..");

/** The module's exports. `import.meta.dirname` of bundled files is the folder of `entry`, as it would be without bundling. */
export async function importBundled(entry) {
  const scratch = mkdtempSync(join(tmpdir(), "pilot-agent-bundle-"));
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
