// The `proxy` command as scripts, and the code that V8 compiled while they ran once: see bin/prepared.cjs.
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { importBundled } from "../run-bundled.mjs";
import { bundleCommands, moduleTable, startScript } from "./bundle-commands.mjs";
import { OPTIONS, withoutOptions } from "./code-flags.cjs";

/** What runs until Envoy is spawned; all else is loaded while Envoy starts. Doors that are entered here load their servers lazily. */
const FIRST = ["src/main.ts", "src/cli/index.ts", "src/cli/commands/proxy.ts", "src/agent/index.ts"];
/** Loaded by settings that many agents have: not rare. */
const COMMON = ["src/dns/start-dns-server.ts", "src/platform/clouds.ts", "src/xds-proxy/tap/start-tap.ts"];

/**
 * `options` are those of the modules' build. dist/proxy.cjs has the modules of the beginning, dist/proxy-rest.cjs the others that every agent
 * loads, and dist/proxy-rare.cjs those that only some settings or events need: an agent does not hold their text in memory.
 */
export async function buildProxyScript(folder, options) {
  const { modules, outputs } = await bundleCommands(options, ["./proxy.ts"]);
  const first = modulesOf(FIRST, outputs);
  const common = modulesOf(COMMON, outputs);
  const part = (wanted) => new Map([...modules].filter(([name]) => wanted(name)));
  const start = startScript(
    part((name) => first.has(name)),
    ["proxy-rest.cjs", "proxy-rare.cjs"],
  );
  writeFileSync(join(folder, "proxy.cjs"), start);
  const write = (name, wanted) =>
    writeFileSync(join(folder, name), `(${moduleTable(part((module) => !first.has(module) && wanted(module)))})`);
  // Once to see what is loaded, once for the code of what is.
  write("proxy-rest.cjs", () => true);
  write("proxy-rare.cjs", () => false);
  const seen = await keepCompiledCode(folder);
  if (seen === undefined) return;
  const isUsual = (name) => common.has(name) || seen.has(`./${name}`);
  write("proxy-rest.cjs", isUsual);
  write("proxy-rare.cjs", (name) => !isUsual(name));
  await keepCompiledCode(folder);
}

/** The modules of these files and what they import statically. */
function modulesOf(files, outputs) {
  const found = new Set();
  const add = (path) => {
    if (found.has(basename(path)) || outputs[path] === undefined) return;
    found.add(basename(path));
    for (const { kind, path: next } of outputs[path].imports) if (kind === "import-statement") add(next);
  };
  for (const [path, { entryPoint }] of Object.entries(outputs)) if (files.includes(entryPoint)) add(path);
  return found;
}

const here = import.meta.dirname;
const LIMIT_MS = 30_000;

/**
 * The agent starts for real, with the tests' control plane and a stand-in for Envoy. Resolves to the names of the modules it loaded. A failure
 * costs speed only: modules are loaded then.
 */
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
    const envoy = `#!/bin/sh\n[ "$1" = --help ] && exit 0\nexec "${process.execPath}" "${join(here, "envoy.cjs")}"\n`;
    writeFileSync(join(folder, "envoy"), envoy, { mode: 0o755 });
    const proxyConfig = {
      binaryPath: join(folder, "envoy"),
      discoveryAddress: `localhost:${controlPlane.port}`,
      proxyAdminPort: await freePort(),
      statusPort: await freePort(),
    };
    const env = {
      ...withoutOptions(),
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
    // As the launcher does: V8 takes cached code only under the options it was cached with.
    const words = [...OPTIONS, "--use-openssl-ca", join(here, "keep-proxy-code.cjs"), dist, "proxy", "sidecar"];
    const options = { cwd: folder, env, timeout: LIMIT_MS, maxBuffer: 2 ** 24 };
    await promisify(execFile)(process.execPath, words, options);
    return new Set(JSON.parse(readFileSync(join(folder, "seen.json"), "utf8")));
  } catch (failure) {
    console.error(`no compiled code is kept, the proxy command starts slower: ${failure.message.trim()}`);
    // Code of another text would be refused.
    for (const name of readdirSync(dist)) if (/^proxy.*\.cache$/.test(name)) rmSync(join(dist, name));
    return undefined;
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
