import { type RunResult, runProgram } from "../src/process/run-program.ts";

/** A package that files of the image come from. */
export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** Its paragraph in dpkg's database. */
  readonly paragraph: string;
}

/** Asks dpkg's database below `root`, which is empty for this machine's. */
export function queryPackages(root: string, words: readonly string[]): Promise<RunResult> {
  const database = root === "" ? [] : [`--admindir=${root}/var/lib/dpkg`];
  return runProgram("dpkg-query", [...database, ...words]);
}

/** The packages of these files, by name. Rejects for a file that belongs to none: its version would be unknown. */
export async function packagesOf(root: string, paths: readonly string[]): Promise<DebianPackage[]> {
  const owners = await ownersOf(root, paths);
  const missing = paths.filter((path) => !owners.has(path));
  if (missing.length > 0)
    throw new Error(`these files belong to no Debian package of ${root || "this machine"}: ${missing.join(", ")}`);
  const names = [...new Set(owners.values())].sort();
  return Promise.all(names.map((name) => describe(root, name)));
}

/** Files that were installed under /bin or /lib, which is /usr/bin or /usr/lib by now, are known by either name. */
async function ownersOf(root: string, paths: readonly string[]): Promise<Map<string, string>> {
  const spellings = new Map<string, string>();
  for (const path of paths) {
    spellings.set(path, path);
    if (/^\/usr\/(s?bin|lib|lib64)\//.test(path)) spellings.set(path.slice("/usr".length), path);
  }
  // Fails when a spelling is unknown, which one of each pair is.
  const { stdout, error } = await queryPackages(root, ["--search", "--", ...spellings.keys()]);
  if (error !== undefined)
    throw new Error(`dpkg-query cannot be run (${error.message}); the image is made of Debian's packages`);
  const owners = new Map<string, string>();
  for (const line of stdout.split("\n")) {
    const [, names = "", spelling = ""] = /^(.+?): (\/.*)$/.exec(line) ?? [];
    const path = spellings.get(spelling);
    const [name = ""] = names.split(", ");
    if (path !== undefined && !name.startsWith("diversion ")) owners.set(path, name);
  }
  return owners;
}

async function describe(root: string, name: string): Promise<DebianPackage> {
  const { stdout, code, output } = await queryPackages(root, ["--status", name]);
  if (code !== 0) throw new Error(`dpkg-query --status ${name}: ${output.trim()}`);
  const field = (wanted: string) => new RegExp(`^${wanted}: (.*)$`, "m").exec(stdout)?.[1] ?? "";
  return {
    name: field("Package"),
    version: field("Version"),
    architecture: field("Architecture"),
    paragraph: `${stdout.trim()}\n`,
  };
}
