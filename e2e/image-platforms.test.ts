import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type Architecture, thisArchitecture } from "../image/architecture.ts";
import { buildImage } from "../image/build-image.ts";
import { runCommand } from "../image/command.ts";
import { fetchDebianRoot } from "../image/debian-root.ts";
import { readElfMachine, readElfNeeds } from "../image/elf.ts";
import { collectParts } from "../image/parts.ts";
import { runProgram } from "../src/process/run-program.ts";
import { temporaryFolder } from "../test/support/files/temporary-folder.ts";
import { envoyPath, has, needs } from "../test/support/needs.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { skipWith } from "../test/support/skip-with.ts";

const OWN: Architecture = thisArchitecture() ?? "amd64";
const OTHER: Architecture = OWN === "amd64" ? "arm64" : "amd64";
const MACHINES = { amd64: 62, arm64: 183 };
const TRIPLES = { amd64: "x86_64-linux-gnu", arm64: "aarch64-linux-gnu" };

interface Manifest {
  readonly config: { readonly digest: string };
  readonly layers: readonly { readonly digest: string }[];
}

interface Index {
  readonly manifests: readonly {
    readonly mediaType: string;
    readonly digest: string;
    readonly platform?: { readonly architecture: string; readonly os: string };
  }[];
}

/** Without a network and with an empty cache there is nothing to test with; the cache is the user's, as for other real parts. */
let missing: string | undefined;
beforeAll(async () => {
  if (!has("dpkg") || !has("envoy")) return;
  await collectParts(OTHER, { progress: () => undefined }).catch((failure: Error) => {
    missing = failure.message;
  });
}, 600_000);
beforeEach((context) => {
  if (missing === undefined) return;
  if (process.env.REQUIRE_REAL === "1") throw new Error(`REQUIRE_REAL=1: ${missing}`);
  skipWith(context, missing);
});

afterEach(() => {
  vi.unstubAllEnvs();
});

const place = sharedPlace(["envoy", "dpkg"], async (opened) => {
  const folder = temporaryFolder();
  opened.defer(() => folder[Symbol.dispose]());
  if (missing !== undefined) return { folder, image: undefined, root: "" };
  const image = await build(folder.file("image"), [OWN, OTHER]);
  const root = folder.file("root");
  await succeed("mkdir", [root]);
  const layers = image.platforms.find(({ platform }) => platform === `linux/${OTHER}`)?.layers ?? [];
  for (const { digest } of layers) await succeed("tar", ["-C", root, "-xzf", blobPath(folder.path, digest)]);
  return { folder, image, root };
});

function build(output: string, architectures: readonly Architecture[]) {
  return buildImage({
    output,
    names: ["localhost/pilot-agent:test"],
    architectures,
    envoy: envoyPath(),
    withoutCodeCache: false,
    epochSeconds: 0,
    gzipLevel: 1,
  });
}

async function succeed(program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, output, error } = await runProgram(program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? output}`);
  return stdout;
}

function blobPath(folder: string, digest: string): string {
  return join(folder, "image/oci/blobs/sha256", digest.slice("sha256:".length));
}

function readBlob<Value>(digest: string): Value {
  return JSON.parse(readFileSync(blobPath(place().folder.path, digest), "utf8")) as Value;
}

test("one name leads to an index of both platforms, each with a configuration of its own architecture", () => {
  const { folder, image } = place();
  const layout = JSON.parse(folder.read("image/oci/index.json")) as Index;
  expect(layout.manifests).toMatchObject([
    { mediaType: "application/vnd.oci.image.index.v1+json", digest: image?.digest },
  ]);
  const { manifests } = readBlob<Index>(image?.digest ?? "");
  expect(manifests.map(({ platform }) => platform)).toEqual([
    { architecture: OWN, os: "linux" },
    { architecture: OTHER, os: "linux" },
  ]);
  for (const { digest, platform } of manifests) {
    const { config, layers } = readBlob<Manifest>(digest);
    expect(readBlob(config.digest)).toMatchObject({ os: "linux", architecture: platform?.architecture });
    expect(layers.every((layer) => existsSync(blobPath(folder.path, layer.digest)))).toBe(true);
  }
});

test("another reader finds each platform under the one name, in the layout and in the archive", async (context) => {
  needs("skopeo")(context);
  const { folder, image } = place();
  for (const architecture of [OWN, OTHER])
    for (const source of [`oci:${folder.file("image/oci")}:test`, `oci-archive:${image?.archive}:test`]) {
      const found = await succeed("skopeo", ["--override-arch", architecture, "inspect", source]);
      expect(JSON.parse(found)).toMatchObject({ Architecture: architecture, Os: "linux" });
    }
  // Docker's own list knows no platforms.
  const listed = await succeed("skopeo", ["inspect", `docker-archive:${image?.archive}:localhost/pilot-agent:test`]);
  expect(JSON.parse(listed)).toMatchObject({ Architecture: OWN });
});

test("every program and library is for the other processor, and has its loader and its libraries in the image", () => {
  const { root } = place();
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const programs = files.filter((path) => readElfMachine(readFileSync(path)) !== undefined);
  const names = programs.map((path) => path.slice(root.length));
  expect(names).toEqual(
    expect.arrayContaining([
      ...["/usr/local/bin/node", "/usr/local/bin/envoy", "/usr/sbin/xtables-nft-multi", "/usr/sbin/nft"],
      `/usr/lib/${TRIPLES[OTHER]}/libc.so.6`,
    ]),
  );
  for (const path of programs) {
    const content = readFileSync(path);
    expect([path, readElfMachine(content)]).toEqual([path, MACHINES[OTHER]]);
    const { interpreter, libraries = [] } = readElfNeeds(content) ?? {};
    if (interpreter !== undefined) expect([path, existsSync(root + interpreter)]).toEqual([path, true]);
    const absent = libraries.filter((name) => {
      const folders = [`usr/lib/${TRIPLES[OTHER]}`, "usr/lib", "usr/lib64"];
      return !folders.some((folder) => existsSync(join(root, folder, name)));
    });
    expect([path, absent]).toEqual([path, []]);
  }
});

test("code that this machine's processor compiled is only in its own image", () => {
  const { image, root } = place();
  const compiled = readdirSync(join(root, "usr/local/lib/pilot-agent/dist")).filter((name) => name.endsWith(".cache"));
  expect(compiled).toEqual([]);
  expect(existsSync(join(root, "usr/local/lib/pilot-agent/dist/main.js"))).toBe(true);
  const [own, other] = image?.platforms.map(({ layers }) => layers.at(-1)?.size ?? 0) ?? [];
  expect(own).toBeGreaterThan(other ?? 0);
});

test("the bill of materials of each platform has the versions of its own packages", () => {
  const { folder, root, image } = place();
  expect(image?.sboms.map((path) => path.slice(folder.path.length))).toEqual(
    [OWN, OTHER].map((architecture) => `/image/sbom.${architecture}.spdx.json`),
  );
  const { packages } = JSON.parse(folder.read(`image/sbom.${OTHER}.spdx.json`)) as {
    packages: { name: string; versionInfo: string; externalRefs: { referenceLocator: string }[] }[];
  };
  const versions = new Map(packages.map(({ name, versionInfo }) => [name, versionInfo]));
  expect(versions.get("node")).toBe(process.versions.node);
  const installed = readdirSync(join(root, "var/lib/dpkg/status.d"));
  expect(installed).toEqual(expect.arrayContaining(["libc6", "iptables", "nftables", "ca-certificates"]));
  for (const name of installed) {
    const paragraph = readFileSync(join(root, "var/lib/dpkg/status.d", name), "utf8");
    expect(paragraph).toContain(`\nVersion: ${versions.get(name)}\n`);
  }
  const libc = packages.find(({ name }) => name === "libc6");
  expect(libc?.externalRefs[0]?.referenceLocator).toContain(`?arch=${OTHER}`);
});

test("built again, and alone, the other platform has the same digest", async () => {
  const { folder, image } = place();
  const again = await build(folder.file("again"), [OTHER]);
  expect(again.digest).toBe(image?.platforms[1]?.digest);
  expect(existsSync(folder.file("again/sbom.spdx.json"))).toBe(true);
});

/** What the command says and returns. */
async function runImageCommand(...words: readonly string[]): Promise<{ said: string; code: number }> {
  const said = vi.spyOn(console, "error").mockImplementation(() => undefined);
  try {
    const code = await runCommand(words);
    return { said: said.mock.calls.flat().join("\n"), code };
  } finally {
    said.mockRestore();
  }
}

test("a part that cannot be had is named, and nothing is written", async () => {
  using folder = temporaryFolder();
  vi.stubEnv("XDG_CACHE_HOME", folder.file("cache"));
  vi.stubEnv("ENVOY_BIN", envoyPath());
  vi.stubEnv("npm_config_registry", "http://127.0.0.1:1/");
  vi.stubEnv("npm_config_cache", folder.file("npm"));
  vi.stubEnv("npm_config_fetch_retries", "0");
  const { said, code } = await runImageCommand("--arch", `${OWN},${OTHER}`, "--output", folder.file("out"));
  expect(said).toMatch(
    new RegExp(`^no image for linux/${OTHER}: Node ${process.versions.node}: npm: .*ECONNREFUSED 127.0.0.1:1$`, "m"),
  );
  expect(said).not.toContain("    at ");
  expect(code).toBe(1);
  expect(existsSync(folder.file("out"))).toBe(false);
});

test("package sources that do not answer are told, and asked again by the next build", async () => {
  using folder = temporaryFolder();
  using machine = temporaryFolder();
  const sources = machine.write("sources.list", "deb http://127.0.0.1:1/debian bookworm main\n");
  const settings = `Dir::Etc::sourcelist "${sources}";\nDir::Etc::sourceparts "/dev/null";\n`;
  vi.stubEnv("APT_CONFIG", machine.write("apt.conf", settings));
  const said: string[] = [];
  const fetched = fetchDebianRoot({ architecture: OTHER, cache: folder.path, progress: (text) => said.push(text) });
  await expect(fetched).rejects.toThrow(/Unable to locate package iptables/);
  expect(said).toEqual([expect.stringContaining("not all lists of packages could be fetched: apt-get: ")]);
  expect(readdirSync(folder.path)).toEqual([`apt-${OTHER}`]);
  expect(existsSync(folder.file(`apt-${OTHER}/updated`))).toBe(false);
});

test("--envoy with another architecture is refused", async () => {
  const { said, code } = await runImageCommand("--arch", OTHER, "--envoy", "/usr/bin/envoy");
  expect(said).toContain(`--envoy /usr/bin/envoy: only for this machine's architecture alone (--arch ${OWN})`);
  expect(code).toBe(2);
});
