// The `proxy` command as one script (dist/proxy.cjs), and the code that V8 compiled while it ran once: see bin/proxy.cjs.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";

/** `options` are those of the modules' build. The script is an expression: a function with the parameters of a CommonJS module. */
export async function buildProxyScript(folder, options) {
  const outfile = join(folder, "proxy.cjs");
  const { splitting: _splitting, outdir: _outdir, chunkNames: _names, entryPoints: _entries, ...shared } = options;
  await build({
    ...shared,
    entryPoints: ["src/main.ts"],
    outfile,
    format: "cjs",
    sourcemap: false,
    // Scripts of node:vm have no dynamic import; what is imported dynamically is in this file or part of Node.
    supported: { "dynamic-import": false },
    // The one module that asks for its own address is the program of DNS threads, which is a file of its own.
    define: { ...options.define, "import.meta.url": "__workerUrl" },
    banner: { js: 'var __workerUrl=require("node:url").pathToFileURL(__dirname+"/dns-worker.js").href;' },
    // A char per byte keeps the script half as large in memory.
    charset: "ascii",
    plugins: [onlyProxy],
  });
  writeFileSync(
    outfile,
    `(function(exports,require,module,__filename,__dirname){${readFileSync(outfile, "latin1")}\n})`,
  );
  await keepCompiledCode(folder);
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
