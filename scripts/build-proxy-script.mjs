// The `proxy` command as two scripts (dist/proxy.cjs, dist/proxy-rest.cjs), and the code that V8 compiled while they ran once: see bin/proxy.cjs.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { build, transform } from "esbuild";

/** What runs until Envoy is spawned; all else is loaded while Envoy starts. */
const FIRST = ["src/main.ts", "src/cli/entry.ts", "src/cli/proxy.ts", "src/agent/index.ts"];

/**
 * `options` are those of the modules' build. Scripts of node:vm have no import, so each module of that build becomes a function with the
 * parameters of a CommonJS module; dist/proxy.cjs has those of the beginning, dist/proxy-rest.cjs the others.
 */
export async function buildProxyScript(folder, options) {
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
    plugins: [onlyProxy, pastDoors],
  });
  const names = firstModules(metafile.outputs);
  const [first, rest] = [[], []];
  for (const { path, text } of outputFiles) {
    const name = basename(path);
    (names.has(name) ? first : rest).push(`"./${name}":${await asFunction(text, shared.target)}`);
  }
  const start = `var first={${first.join(",")}},rest,loaded=new Map;${LOADER}load("./main.js")`;
  writeFileSync(join(folder, "proxy.cjs"), `(function(nodeRequire,prepared,dist){${start}})`);
  writeFileSync(join(folder, "proxy-rest.cjs"), `({${rest.join(",")}})`);
  await keepCompiledCode(folder);
}

const LOADER = `
function load(name){
  var module=loaded.get(name);
  if(module!==undefined)return module.exports;
  loaded.set(name,module={exports:{}});
  (first[name]??(rest??=prepared("proxy-rest.cjs"))[name])(module.exports,require,module,dist);
  return module.exports;
}
function require(name){return name.startsWith("./")?load(name):nodeRequire(name)}
`;

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

/** The named modules and what they import statically. */
function firstModules(outputs) {
  const found = new Set();
  const add = (path) => {
    if (found.has(basename(path)) || outputs[path] === undefined) return;
    found.add(basename(path));
    for (const { kind, path: next } of outputs[path].imports) if (kind === "import-statement") add(next);
  };
  for (const [path, { entryPoint }] of Object.entries(outputs)) if (FIRST.includes(entryPoint)) add(path);
  return found;
}

const LISTS = /\b(import|export)\s*\{([^}]*)\}\s*from\s*"(\.[^"]*\.ts)"/g;

/** A folder's index.ts names everything in it. Whoever imports one thing through it gets that file alone, not the code of all. */
const pastDoors = {
  name: "past-doors",
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => ({
      loader: "ts",
      contents: readFileSync(path, "utf8").replace(LISTS, (statement, kind, names, from) => {
        if (kind !== "import" || !from.endsWith("/index.ts")) return statement;
        const door = resolve(dirname(path), from);
        return words(names)
          .map(({ name, as }) => importOf(path, as, behindDoors(name, door)))
          .join("");
      }),
    }));
  },
};

function importOf(path, as, { name, file }) {
  return `import {${name} as ${as}} from ${JSON.stringify(`./${relative(dirname(path), file)}`)};`;
}

function behindDoors(name, file) {
  if (!file.endsWith("/index.ts")) return { name, file };
  for (const [, kind, names, from] of readFileSync(file, "utf8").matchAll(LISTS)) {
    const found = kind === "export" ? words(names).find(({ as }) => as === name) : undefined;
    if (found !== undefined) return behindDoors(found.name, resolve(dirname(file), from));
  }
  return { name, file };
}

/** The values of a list; types leave no trace in the code. */
function words(list) {
  const all = list.split(",").map((word) => word.trim());
  return all
    .filter((word) => word !== "" && !word.startsWith("type "))
    .map((word) => {
      const [name, as = name] = word.split(" as ");
      return { name, as };
    });
}

/** Other commands are never run from this script. */
const onlyProxy = {
  name: "only-proxy",
  setup(build) {
    build.onResolve({ filter: /^\.\// }, ({ importer, kind, path }) => {
      const isOther = importer.endsWith("/src/cli/commands.ts") && kind === "dynamic-import" && path !== "./proxy.ts";
      return isOther ? { path, namespace: "other-command" } : undefined;
    });
    build.onLoad({ filter: /.*/, namespace: "other-command" }, () => ({
      contents: "export const command = undefined;",
    }));
  },
};

const STAND_IN = '#!/bin/sh\n[ "$1" = --help ] && exit 0\n: > executed\nexec sleep 60\n';
const here = import.meta.dirname;

/** The agent starts for real, with a stand-in for Envoy and nobody's control plane. A failure costs speed only: modules are loaded then. */
async function keepCompiledCode(dist) {
  const folder = mkdtempSync(join(tmpdir(), "pilot-agent-build-"));
  try {
    const secrets = join(folder, "var/run/secrets");
    for (const name of ["istio", "tokens"]) mkdirSync(join(secrets, name), { recursive: true });
    copyFileSync(join(here, "code-cache/root-cert.pem"), join(secrets, "istio/root-cert.pem"));
    writeFileSync(join(secrets, "tokens/istio-token"), "none");
    writeFileSync(join(folder, "envoy"), STAND_IN, { mode: 0o755 });
    const proxyConfig = {
      binaryPath: join(folder, "envoy"),
      discoveryAddress: "localhost:1",
      proxyAdminPort: await freePort(),
      statusPort: await freePort(),
    };
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(here, "code-cache/keep-code.cjs"), dist, "proxy", "sidecar"],
      {
        cwd: folder,
        encoding: "utf8",
        timeout: 30_000,
        stdio: ["ignore", "ignore", "pipe"],
        env: {
          PATH: process.env.PATH,
          POD_NAME: "build",
          POD_NAMESPACE: "build",
          INSTANCE_IP: "127.0.0.1",
          CLOUD_PLATFORM: "none",
          PROXY_XDS_DEBUG_VIA_AGENT: "false",
          PROXY_CONFIG: JSON.stringify(proxyConfig),
        },
      },
    );
    if (status !== 0) console.error(`no compiled code is kept, the proxy command starts slower: ${stderr.trim()}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function freePort() {
  return new Promise((found) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}
