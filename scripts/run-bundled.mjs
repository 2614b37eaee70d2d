// Bundles a TypeScript file and imports it: the way scripts reach code that Node cannot read without a build.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = resolve(import.meta.dirname, "..");

/** Each bundled file keeps the folder it lies in, as it would have it without bundling. */
const ownFolders = {
  name: "own-folders",
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replaceAll("import.meta.dirname", JSON.stringify(dirname(path))),
      loader: "ts",
    }));
  },
};

/** The module's exports. */
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
      plugins: [ownFolders],
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
