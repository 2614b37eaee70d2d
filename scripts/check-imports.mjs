// Who may import whom (docs/architecture.md). Prints each violation as file:line and exits 1 when there is one.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/** Layers from the process edge down; an import goes to a lower layer or stays in its folder. */
const LAYERS = [
  ["main", "index"],
  ["cli"],
  ["agent", "discovery", "mesh"],
  ["config"],
  [
    "bootstrap",
    "envoy",
    "identity",
    "sds",
    "sts",
    "ca",
    "xds-proxy",
    "wasm",
    "dns",
    "status",
    "workload-health",
    "capture",
    "inject",
    "doctor",
    "console",
  ],
  ["grpc", "template"],
  ["protocol"],
  ["base"],
];
/** Libraries whose files are imported one by one; every other folder is entered through its index.ts. */
const OPEN_FOLDERS = new Set(["base", "protocol", "cli"]);
/** Second doors: small parts that every command loads, without the folder behind index.ts. */
const SIDE_DOORS = new Set(["config/environment-warnings.ts"]);
/** Pure decisions: no sockets, files, processes, timers, clock. */
const EFFECTS =
  /^(node:)?(fs|net|dgram|http|https|http2|tls|child_process|worker_threads|dns|os|process|timers|cluster)(\/|$)/;

const src = resolve(import.meta.dirname, "../src");
const layerOf = (folder) => LAYERS.findIndex((layer) => layer.includes(folder));
const folderOf = (file) => relative(src, file).split("/")[0].replace(/\.ts$/, "");
const sources = (dir) =>
  readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return entry.name === "gen" ? [] : sources(path);
    return entry.name.endsWith(".ts") ? [path] : [];
  });

const violations = [];
for (const file of sources(src)) {
  const folder = folderOf(file);
  const isTest = file.endsWith(".test.ts");
  const isPure = /\/core\//.test(file) && !isTest;
  const report = (line, text) => violations.push(`${relative(dirname(src), file)}:${line}: ${text}`);
  if (layerOf(folder) === -1) report(1, `folder ${folder} has no layer; add it to scripts/check-imports.mjs`);
  readFileSync(file, "utf8")
    .split("\n")
    .forEach((text, index) => {
      const line = index + 1;
      if (
        isPure &&
        /\b(process\.|setTimeout\(|setInterval\(|Date\.now\(|new Date\(\)|Math\.random\()/.test(
          text.replace(/\/\/.*|^\s*\*.*/, ""),
        )
      ) {
        report(line, "core/ is pure: pass clock, timers, randomness and process values as arguments");
      }
      const target = /(?:from|import)\s*\(?\s*"([^"]+)"/.exec(text)?.[1];
      if (target === undefined) return;
      if (isPure && EFFECTS.test(target)) report(line, `core/ is pure: it may not import ${target}`);
      if (!target.startsWith(".") || isTest) return;
      const targetFolder = folderOf(resolve(dirname(file), target));
      if (targetFolder === folder) return;
      const [from, to] = [layerOf(folder), layerOf(targetFolder)];
      if (to < from) report(line, `${folder} may not import ${targetFolder}: arrows never turn back`);
      if (to === from)
        report(
          line,
          `${folder} may not import its sibling ${targetFolder}: declare an interface, the composition root connects`,
        );
      const path = relative(src, resolve(dirname(file), target));
      if (!OPEN_FOLDERS.has(targetFolder) && !SIDE_DOORS.has(path) && path !== `${targetFolder}/index.ts`)
        report(line, `enter ${targetFolder} through its index.ts`);
    });
}
for (const violation of violations) console.error(violation);
console.log(`import direction: ${violations.length} violations`);
process.exitCode = violations.length > 0 ? 1 : 0;
