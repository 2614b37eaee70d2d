// Bundles the console's page into FOLDER/console: one script, one style sheet, one HTML file; nothing is fetched from elsewhere.
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** @param {string} root of the project @param {string} folder where dist/ is being built */
export async function buildConsole(root, folder) {
  const outdir = join(folder, "console");
  mkdirSync(outdir, { recursive: true });
  await build({
    absWorkingDir: root,
    entryPoints: { console: "web/main.tsx", style: "web/style/index.css" },
    outdir,
    bundle: true,
    format: "esm",
    platform: "browser",
    target: ["chrome111", "firefox115", "safari16.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: true,
    legalComments: "none",
    logLevel: "warning",
  });
  for (const name of ["index.html", "icon.svg"]) copyFileSync(join(root, "web", name), join(outdir, name));
}
