import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { runProgram } from "../src/process/run-program.ts";
import type { Architecture } from "./architecture.ts";

export interface DebianRootOptions {
  readonly architecture: Architecture;
  /** Lists of packages and unpacked packages stay there. */
  readonly cache: string;
  progress(text: string): void;
}

interface Candidate {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
}

/** With what they depend on; the last two are for Node and Envoy. */
const PACKAGES = ["iptables", "nftables", "iproute2", "ca-certificates", "coreutils", "dash", "base-files"];
const LIBRARIES = ["libstdc++6", "libatomic1"];
const MERGED = ["bin", "sbin", "lib", "lib64"];
const LIST_AGE_MS = 24 * 3_600_000;
export const DOWNLOAD_LIMIT_MS = 600_000;

/**
 * A folder with Debian's packages of another architecture, and a dpkg database of them. They come from this machine's own package sources, and apt
 * checks their signatures; nothing of them is run, and nothing of this machine's packages changes.
 */
export async function fetchDebianRoot(options: DebianRootOptions): Promise<string> {
  const { architecture, cache, progress } = options;
  const state = join(cache, `apt-${architecture}`);
  const apt = (archives: string, ...words: readonly string[]) =>
    run("apt-get", [...aptOptions(architecture, state, archives), ...words]);
  const scratch = makeScratch(cache, state);
  try {
    await refreshLists(state, () => apt(scratch, "update"), progress);
    const install = ["--yes", "--no-install-recommends", "install", ...PACKAGES, ...LIBRARIES];
    const wanted = parseCandidates(await apt(scratch, "--simulate", ...install));
    const key = createHash("sha256").update(JSON.stringify(wanted)).digest("hex").slice(0, 16);
    const target = join(cache, `debian-${architecture}-${key}`);
    if (existsSync(target)) return target;
    progress(`Getting ${wanted.length} Debian packages for ${architecture} ...`);
    await apt(scratch, "--download-only", ...install);
    const root = join(scratch, "root");
    await unpackAll(scratch, root, wanted, architecture);
    publish(root, target);
    return target;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function makeScratch(cache: string, state: string): string {
  mkdirSync(join(state, "lists/partial"), { recursive: true });
  // Nothing is installed there: all that a package depends on is wanted.
  writeFileSync(join(state, "status"), "");
  const scratch = mkdtempSync(join(cache, ".debian-"));
  mkdirSync(join(scratch, "partial"));
  return scratch;
}

function aptOptions(architecture: Architecture, state: string, archives: string): string[] {
  const settings = {
    "APT::Architecture": architecture,
    "APT::Architectures": architecture,
    "Dir::State": state,
    "Dir::State::lists": join(state, "lists"),
    "Dir::State::status": join(state, "status"),
    "Dir::Cache": state,
    "Dir::Cache::archives": archives,
    // Else a source that does not answer counts as success.
    "APT::Update::Error-Mode": "any",
    "Acquire::Languages": "none",
    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    // apt's own user cannot write to somebody's cache.
    "APT::Sandbox::User": "root",
  };
  return ["-q", ...Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`])];
}

/** Without a network, what the lists said last is still true of what they name; the next build tries again. */
async function refreshLists(state: string, update: () => Promise<unknown>, progress: (text: string) => void) {
  const stamp = join(state, "updated");
  const updated = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs;
  if (updated !== undefined && Date.now() - updated < LIST_AGE_MS) return;
  try {
    await update();
    writeFileSync(stamp, "");
  } catch (failure) {
    const last = updated === undefined ? "" : `, those of ${new Date(updated).toISOString()} are used`;
    progress(`not all lists of packages could be fetched${last}: ${(failure as Error).message}`);
  }
}

/** Lines `Inst NAME (VERSION SOURCE [ARCHITECTURE])` of a simulation, by name. */
function parseCandidates(simulation: string): Candidate[] {
  const lines = simulation.matchAll(/^Inst (\S+) \((\S+) .*\[(\w+)\]\)/gm);
  const found = [...lines].map(([, name = "", version = "", architecture = ""]) => ({
    name: name.split(":")[0] ?? name,
    version,
    architecture,
  }));
  if (found.length === 0) throw new Error(`apt-get names no packages: ${simulation.trim()}`);
  return found.sort((one, other) => (one.name < other.name ? -1 : 1));
}

async function unpackAll(archives: string, root: string, wanted: readonly Candidate[], architecture: Architecture) {
  const database = join(root, "var/lib/dpkg");
  mkdirSync(join(database, "info"), { recursive: true });
  for (const name of MERGED) {
    mkdirSync(join(root, "usr", name), { recursive: true });
    symlinkSync(`usr/${name}`, join(root, name));
  }
  const paragraphs: string[] = [];
  for (const candidate of wanted) {
    const { name, version } = candidate;
    const archive = join(archives, `${name}_${version.replaceAll(":", "%3a")}_${candidate.architecture}.deb`);
    const folder = join(archives, "unpacked");
    await run("dpkg-deb", ["--extract", archive, folder]);
    const control = (await run("dpkg-deb", ["--field", archive])).trim();
    paragraphs.push(control.replace(/^(Package: .*)$/m, "$1\nStatus: install ok installed"));
    const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => `/${path}`);
    const isShared = /^Multi-Arch: same$/m.test(control);
    const list = join(database, "info", `${name}${isShared ? `:${candidate.architecture}` : ""}.list`);
    writeFileSync(list, `${["/.", ...paths.sort()].join("\n")}\n`);
    mergeInto(root, folder);
    rmSync(folder, { recursive: true });
  }
  writeFileSync(join(database, "info/format"), "1\n");
  writeFileSync(join(database, "arch"), `${architecture}\n`);
  writeFileSync(join(database, "status"), `${paragraphs.join("\n\n")}\n`);
}

/** Packages still have files under /bin and /lib, which are links by now. */
function mergeInto(root: string, folder: string): void {
  for (const name of readdirSync(folder))
    cpSync(join(folder, name), join(root, MERGED.includes(name) ? `usr/${name}` : name), {
      recursive: true,
      verbatimSymlinks: true,
    });
}

/** Another build may have been faster; its packages are the same. */
function publish(finished: string, target: string): void {
  try {
    renameSync(finished, target);
  } catch (failure) {
    if (!existsSync(target)) throw failure;
  }
}

/** Its standard output. Rejects with what it said. */
export async function run(program: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" };
  const { code, signal, stdout, stderr, error } = await runProgram(program, args, {
    env,
    timeoutMs: DOWNLOAD_LIMIT_MS,
  });
  if (code === 0) return stdout;
  throw new Error(
    `${program}: ${error?.message ?? (stderr.trim() || `it ended with ${signal ?? `exit code ${code}`}`)}`,
  );
}
