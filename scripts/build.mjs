// Bundles the program into dist/: one entry per door, a chunk per command, so that a command loads only its own code.
// With --if-stale nothing happens when dist/ was built from the same sources.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { buildConsole } from "./build-console.mjs";
import { bundleTypes } from "./bundle-types.mjs";
import { buildCommandsScript } from "./prepared/build-commands-script.mjs";
import { buildProxyScript } from "./prepared/build-proxy-script.mjs";

const root = resolve(import.meta.dirname, "..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Empty where git or the repository is absent, as in an unpacked archive. */
function git(...args) {
  try {
    return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return "";
  }
}

const inCheckout = existsSync(join(root, ".git"));
const revision = inCheckout ? git("rev-parse", "HEAD") : "";
const stamp = {
  version,
  revision: revision || "unknown",
  status: revision === "" ? "unknown" : git("status", "--porcelain") === "" ? "Clean" : "Modified",
  tag: (inCheckout && git("describe", "--tags", "--always")) || "unknown",
};

/** Whatever the result depends on: sources, scripts, dependencies, the stamp and this Node, whose compiled code is part of it. */
function hashInputs() {
  const hash = createHash("sha256").update(JSON.stringify([stamp, process.version, process.arch]));
  const files = ["src", "web", "bin", "scripts"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  for (const name of ["package.json", "package-lock.json", "tsconfig.json", "tsconfig.types.json"])
    files.push(join(root, name));
  for (const file of files.sort()) hash.update(`${file}\0`).update(readFileSync(file));
  return hash.digest("hex");
}

const inputs = hashInputs();
const record = "build-inputs.sha256";
const known = join(root, "dist", record);
if (process.argv.includes("--if-stale") && existsSync(known) && readFileSync(known, "utf8") === inputs) {
  console.log("dist/ is up to date");
  process.exit(0);
}

// Built aside and swapped in, so that a program started meanwhile finds a whole dist/.
const fresh = join(root, `.dist-${process.pid}`);
process.on("exit", () => rmSync(fresh, { recursive: true, force: true }));
const options = {
  absWorkingDir: root,
  entryPoints: { main: "src/main.ts", index: "src/index.ts", "dns-worker": "src/dns/worker-entry.ts" },
  outdir: fresh,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  minifySyntax: true,
  minifyWhitespace: true,
  // Names are kept by leaving them as they are: esbuild would give them back to every closure each time that one is made, a twentieth of the
  // time that the control plane takes to make its resources.
  minifyIdentifiers: false,
  sourcemap: "linked",
  legalComments: "eof",
  chunkNames: "chunks/[name]-[hash]",
  define: { __BUILD_STAMP__: JSON.stringify(stamp) },
  // CommonJS dependencies inside an ES module bundle still call require for Node's own modules.
  banner: {
    js: 'import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);',
  },
  logLevel: "warning",
};
await build(options);
await buildProxyScript(fresh, options);
await buildCommandsScript(fresh, options);
await buildConsole(root, fresh);
const tsc = join(root, "node_modules/typescript/bin/tsc");
const types = ["-p", "tsconfig.types.json", "--outDir", join(fresh, "all-types")];
// The compiler has told what is wrong; the stack of this script would only bury it.
const { status } = spawnSync(process.execPath, [tsc, ...types], { cwd: root, stdio: "inherit" });
if (status !== 0) process.exit(1);
writeFileSync(join(fresh, "index.d.ts"), bundleTypes(join(fresh, "all-types/index.d.ts")));
rmSync(join(fresh, "all-types"), { recursive: true });

writeFileSync(join(fresh, record), inputs);

const previous = `${fresh}-previous`;
if (existsSync(join(root, "dist"))) renameSync(join(root, "dist"), previous);
renameSync(fresh, join(root, "dist"));
rmSync(previous, { recursive: true, force: true });
