import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DebianPackage, packagesOf, queryPackages } from "./debian-packages.ts";
import { createMachineFiles } from "./machine-files.ts";
import type { Parts } from "./parts.ts";
import type { TarEntry } from "./tar.ts";

const VERBS = ["", "-save", "-restore"];
/** What `pilot-agent` runs, or what its launcher does; the rest is for whoever looks into a container. */
const PROGRAMS = [
  ...["sh", "cat", "dirname", "env", "id", "ls", "mkdir", "readlink", "sleep"].map((name) => `/usr/bin/${name}`),
  ...["iptables", "ip6tables"].flatMap((name) =>
    ["-nft", "-legacy"].flatMap((kind) => VERBS.map((verb) => `/usr/sbin/${name}${kind}${verb}`)),
  ),
  "/usr/sbin/nft",
  "/usr/sbin/ip",
];
const PACKAGES = "apt-get install iptables nftables iproute2 ca-certificates coreutils dash";

/** The user that the proxy runs as: traffic of this one is not captured. */
const PROXY_USER = 1337;

/** Debian's part of the image: programs, what they and Node and Envoy load, CA roots, users, and what packages they are from. */
export async function debianEntries({
  architecture,
  debianRoot: root,
  node,
  envoy,
}: Parts): Promise<{ entries: TarEntry[]; packages: DebianPackage[] }> {
  const files = createMachineFiles(architecture, root);
  for (const path of PROGRAMS) {
    // A link there may be absolute, for the image.
    if (lstatSync(root + path, { throwIfNoEntry: false }) === undefined)
      throw new Error(`${root}${path} is missing: ${PACKAGES}`);
    files.add(path);
  }
  for (const path of await xtablesModules(root)) files.add(path);
  for (const { path, content } of [node, envoy]) files.addNeedsOf(path, content);
  files.add("/usr/lib/os-release");
  const roots = await caRoots(root);
  const packages = await packagesOf(root, [...[...files.entries.keys()].map((path) => `/${path}`), ...roots]);
  const bundle = Buffer.concat(roots.map((path) => readFileSync(root + path)));
  const entries = [
    ...files.entries.values(),
    ...FIXED,
    file("etc/ssl/certs/ca-certificates.crt", bundle),
    ...packages.flatMap((one) => packageRecords(root, one)),
  ];
  return { entries: withFolders(entries), packages };
}

/** The modules that rules are written with; iptables loads them by name. */
async function xtablesModules(root: string): Promise<string[]> {
  return (await listFiles(root, "iptables")).filter((path) => /\/xtables\/[^/]+\.so$/.test(path));
}

/** Those of the package: what an administrator has added to this machine is not for other machines. */
async function caRoots(root: string): Promise<string[]> {
  const found = (await listFiles(root, "ca-certificates")).filter((path) =>
    /^\/usr\/share\/ca-certificates\/.*\.crt$/.test(path),
  );
  return found.sort();
}

async function listFiles(root: string, name: string): Promise<string[]> {
  const { stdout, code, error, output } = await queryPackages(root, ["--listfiles", name]);
  if (code !== 0) throw new Error(`dpkg-query --listfiles ${name}: ${error?.message ?? output.trim()} (${PACKAGES})`);
  return stdout.split("\n");
}

/** As in Debian's images without a package manager: scanners find versions there; the copyright file is the license's condition. */
function packageRecords(root: string, { name, paragraph }: DebianPackage): TarEntry[] {
  const copyright = `/usr/share/doc/${name}/copyright`;
  return [
    file(`var/lib/dpkg/status.d/${name}`, paragraph),
    ...(existsSync(root + copyright) ? [file(copyright.slice(1), readFileSync(root + copyright))] : []),
  ];
}

/** A folder of this project. */
export function folderEntries(from: string, to: string, wanted: (path: string) => boolean): TarEntry[] {
  return readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => wanted(path.slice(from.length + 1)))
    .map((path) => file(`${to}${path.slice(from.length)}`, readFileSync(path)));
}

export function file(path: string, content: Buffer | string, mode = 0o644): TarEntry {
  return { path, type: "file", mode, content: Buffer.from(content) };
}

export function link(path: string, target: string): TarEntry {
  return { path, type: "symlink", mode: 0o777, target };
}

function folder(path: string, mode = 0o755, owner = 0): TarEntry {
  return { path, type: "directory", mode, uid: owner, gid: owner };
}

/** In order, with every folder that leads to an entry before it. */
export function withFolders(entries: readonly TarEntry[]): TarEntry[] {
  const all = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries)
    for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1))
      if (!all.has(path.slice(0, at))) all.set(path.slice(0, at), folder(path.slice(0, at)));
  return [...all.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
}

const FIXED: readonly TarEntry[] = [
  ...["bin", "lib", "sbin"].map((name) => link(name, `usr/${name}`)),
  link("lib64", "usr/lib64"),
  folder("usr/lib64"),
  // Debian's default; which of the two this machine prefers does not count.
  ...["iptables", "ip6tables"].flatMap((name) =>
    VERBS.map((verb) => link(`usr/sbin/${name}${verb}`, `${name}-nft${verb}`)),
  ),
  link("etc/os-release", "../usr/lib/os-release"),
  link("var/run", "/run"),
  file(
    "etc/passwd",
    `root:x:0:0:root:/root:/bin/sh\nistio-proxy:x:${PROXY_USER}:${PROXY_USER}:Istio proxy:/home/istio-proxy:/bin/sh\n`,
  ),
  file("etc/group", `root:x:0:\nistio-proxy:x:${PROXY_USER}:\n`),
  file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
  ...["dev", "proc", "run", "sys", "usr/local/bin"].map((path) => folder(path)),
  folder("root", 0o700),
  folder("tmp", 0o1777),
  // What the agent writes to; pods mount volumes there, without which a read-only root fails.
  ...["home/istio-proxy", "etc/istio/proxy", "var/lib/istio/data"].map((path) => folder(path, 0o755, PROXY_USER)),
];
