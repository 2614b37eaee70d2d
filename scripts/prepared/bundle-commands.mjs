// Some commands as the text of a script: scripts of node:vm have no import, so each module of the bundle becomes a function with the
// parameters of a CommonJS module.
import { basename } from "node:path";
import { build, transform } from "esbuild";

/** `options` are those of the modules' build. Resolves to the modules by name, as functions, and to esbuild's list of its outputs. */
export async function bundleCommands(options, files) {
  const { entryPoints: _entries, ...shared } = options;
  const { metafile, outputFiles } = await build({
    ...shared,
    entryPoints: { main: "src/main.ts" },
    chunkNames: "[name]-[hash]",
    sourcemap: false,
    write: false,
    metafile: true,
    banner: {},
    // The one module that asks for its own address is the program of DNS threads, which is a file of its own.
    define: { ...options.define, "import.meta.url": "__workerUrl" },
    plugins: [onlyCommands(files)],
  });
  const modules = new Map();
  for (const { path, text } of outputFiles) modules.set(basename(path), await asFunction(text, shared.target));
  return { modules, outputs: metafile.outputs };
}

/** The text of a script that runs the program. What is not in `modules` is looked for in the scripts `others`, one after the other. */
export function startScript(modules, others = []) {
  return `(function(nodeRequire,prepared,dist,seen){var table=${moduleTable(modules)},others=${JSON.stringify(others)},loaded=new Map;
function load(name){
  var module=loaded.get(name);
  if(module!==undefined)return module.exports;
  loaded.set(name,module={exports:{}});
  seen?.add(name);
  while(table[name]===undefined&&others.length>0)Object.assign(table,prepared(others.shift()));
  table[name](module.exports,require,module,dist);
  return module.exports;
}
function require(name){return name.startsWith("./")?load(name):nodeRequire(name)}
load("./main.js")})`;
}

export function moduleTable(modules) {
  return `{${[...modules].map(([name, text]) => `"./${name}":${text}`).join(",")}}`;
}

async function asFunction(text, target) {
  const { code } = await transform(text, {
    format: "cjs",
    target,
    platform: "node",
    minifyWhitespace: true,
    supported: { "dynamic-import": false },
    // A char per byte keeps the script half as large in memory.
    charset: "ascii",
  });
  const worker = code.includes("__workerUrl")
    ? 'var __workerUrl=require("node:url").pathToFileURL(dist+"/dns-worker.js").href;'
    : "";
  return `function(exports,require,module,dist){${worker}${code}\n}`;
}

/** Other commands are never run from the script. */
const onlyCommands = (files) => ({
  name: "only-commands",
  setup(build) {
    build.onResolve({ filter: /^\.\.?\// }, ({ importer, kind, path }) => {
      const isOther =
        importer.endsWith("/src/cli/commands/list.ts") && kind === "dynamic-import" && !files.includes(path);
      return isOther ? { path, namespace: "other-command" } : undefined;
    });
    build.onLoad({ filter: /.*/, namespace: "other-command" }, () => ({
      contents: "export const command = undefined;",
    }));
  },
});
