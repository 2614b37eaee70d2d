// The `proxy` command as two scripts (dist/proxy.cjs, dist/proxy-rest.cjs), and the code that V8 compiled while they ran once: see bin/proxy.cjs.
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { build, transform } from "esbuild";
import { importBundled } from "./run-bundled.mjs";

/** What runs until Envoy is spawned; all else is loaded while Envoy starts. Doors that are entered here load their servers lazily. */
const FIRST = ["src/main.ts", "src/cli/index.ts", "src/cli/commands/proxy.ts", "src/agent/index.ts"];

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
    // Names are kept by leaving them as they are: giving them back to thousands of functions takes time at every start.
    minifyIdentifiers: false,
    keepNames: false,
    write: false,
    metafile: true,
    banner: {},
    // The one module that asks for its own address is the program of DNS threads, which is a file of its own.
    define: { ...options.define, "import.meta.url": "__workerUrl" },
    plugins: [onlyProxy],
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

/** Other commands are never run from this script. */
const onlyProxy = {
  name: "only-proxy",
  setup(build) {
    build.onResolve({ filter: /^\.\/|^\.\.\/(mesh|framework)\// }, ({ importer, kind, path }) => {
      const isOther =
        importer.endsWith("/src/cli/commands/list.ts") && kind === "dynamic-import" && path !== "./proxy.ts";
      return isOther ? { path, namespace: "other-command" } : undefined;
    });
    build.onLoad({ filter: /.*/, namespace: "other-command" }, () => ({
      contents: "export const command = undefined;",
    }));
  },
};

const here = import.meta.dirname;
const LIMIT_MS = 30_000;

/** The agent starts for real, with the tests' control plane and a stand-in for Envoy. A failure costs speed only: modules are loaded then. */
async function keepCompiledCode(dist) {
  const folder = mkdtempSync(join(tmpdir(), "pilot-agent-build-"));
  let controlPlane;
  try {
    const { startMeshControlPlane } = await importBundled("test/support/xds/mesh-control-plane.ts");
    controlPlane = await startMeshControlPlane({ resources: () => [] });
    const secrets = join(folder, "var/run/secrets");
    for (const name of ["istio", "tokens"]) mkdirSync(join(secrets, name), { recursive: true });
    copyFileSync(controlPlane.rootFile, join(secrets, "istio/root-cert.pem"));
    writeFileSync(join(secrets, "tokens/istio-token"), await controlPlane.token("build", "build"));
    const envoy = `#!/bin/sh\n[ "$1" = --help ] && exit 0\nexec "${process.execPath}" "${join(here, "code-cache/envoy.cjs")}"\n`;
    writeFileSync(join(folder, "envoy"), envoy, { mode: 0o755 });
    const proxyConfig = {
      binaryPath: join(folder, "envoy"),
      discoveryAddress: `localhost:${controlPlane.port}`,
      proxyAdminPort: await freePort(),
      statusPort: await freePort(),
    };
    const env = {
      PATH: process.env.PATH,
      POD_NAME: "build",
      POD_NAMESPACE: "build",
      SERVICE_ACCOUNT: "build",
      INSTANCE_IP: "127.0.0.1",
      CLOUD_PLATFORM: "none",
      PROXY_XDS_DEBUG_VIA_AGENT: "false",
      PROXY_CONFIG: JSON.stringify(proxyConfig),
      // The stand-in for Envoy reads its ports there.
      ENVOY_PASS_ENVIRONMENT: "PROXY_CONFIG",
    };
    // As the launcher does: V8 takes kept code only under the options it was kept with.
    const words = ["--use-openssl-ca", join(here, "code-cache/keep-code.cjs"), dist, "proxy", "sidecar"];
    const options = { cwd: folder, env, timeout: LIMIT_MS, maxBuffer: 2 ** 24 };
    await promisify(execFile)(process.execPath, words, options);
  } catch (failure) {
    console.error(`no compiled code is kept, the proxy command starts slower: ${failure.message.trim()}`);
  } finally {
    await controlPlane?.[Symbol.asyncDispose]();
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
