import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { runProgram } from "../src/process/run-program.ts";
import { type Descriptor, type Layer, writeArchive, writeIndex, writeLayer, writeManifest } from "./oci.ts";
import { debianEntries, file, folderEntries, link, type Program, withFolders } from "./root-filesystem.ts";
import { buildSbom, type Component } from "./sbom.ts";

export interface ImageOptions {
  /** Gets `oci/` (an OCI layout), `image.tar` (for docker, podman and ctr) and `sbom.spdx.json`. */
  readonly output: string;
  /** `HOST/NAME:TAG`, each a name of the image. */
  readonly names: readonly string[];
  /** Path of the Envoy to take. */
  readonly envoy: string;
  /** Leaves out what V8 compiled, which differs between two builds of the same sources. */
  readonly withoutCodeCache: boolean;
  /** Modification time of all files, SOURCE_DATE_EPOCH of reproducible builds. */
  readonly epochSeconds: number;
}

export interface BuiltImage {
  readonly digest: string;
  readonly archive: string;
  readonly platform: string;
  /** As stored and sent. */
  readonly compressedBytes: number;
  readonly layers: readonly Layer[];
}

const ROOT = resolve(import.meta.dirname, "..");
const HOME = "usr/local/lib/pilot-agent";
const ARCHITECTURES = { x64: "amd64", arm64: "arm64" } as const;

/** The image of this machine's architecture, from this checkout's dist/, this Node, this Envoy and Debian's packages. */
export async function buildImage(options: ImageOptions): Promise<BuiltImage> {
  const { output, names, epochSeconds } = options;
  const arch = thisArchitecture();
  if (!existsSync(join(ROOT, "dist/main.js"))) throw new Error("dist/ is missing: npm run build");
  const layout = join(output, "oci");
  rmSync(layout, { recursive: true, force: true });
  mkdirSync(layout, { recursive: true });

  const node: Program = { path: process.execPath, content: readFileSync(process.execPath) };
  const envoy: Program = { path: options.envoy, content: readFileSync(options.envoy) };
  const debian = await debianEntries(arch, [node, envoy]);
  const { version, npm } = readProject();
  const sbom = buildSbom({
    name: "pilot-agent",
    version,
    createdSeconds: epochSeconds,
    debian: debian.packages,
    components: [
      component("node", process.versions.node, `pkg:generic/node@${process.versions.node}`, "MIT", node.content),
      await envoyComponent(envoy),
      ...npm,
    ],
  });
  const program = (name: string, { content }: Program) => withFolders([file(`usr/local/bin/${name}`, content, 0o755)]);
  const contents = [
    { by: "Debian packages", entries: debian.entries },
    { by: `Node ${process.versions.node}`, entries: program("node", node) },
    { by: "Envoy", entries: program("envoy", envoy) },
    { by: `pilot-agent ${version}`, entries: withFolders(agentEntries(sbom, options.withoutCodeCache)) },
  ];
  const layers = await Promise.all(contents.map(({ by, entries }) => writeLayer(layout, by, entries, epochSeconds)));
  const { manifest, config } = writeManifest(layout, layers, {
    architecture: ARCHITECTURES[arch],
    createdSeconds: epochSeconds,
    config: imageConfig(version),
  });
  writeIndex(layout, names, manifest, ARCHITECTURES[arch]);
  const archive = join(output, "image.tar");
  await writeArchive(archive, layout, { names, manifest, config, layers });
  writeFileSync(join(output, "sbom.spdx.json"), sbom);
  return {
    digest: manifest.digest,
    archive,
    platform: `linux/${ARCHITECTURES[arch]}`,
    compressedBytes: totalBytes([manifest, config, ...layers]),
    layers,
  };
}

/** The same for the Dockerfile, which says it again. */
function imageConfig(version: string): Readonly<Record<string, unknown>> {
  return {
    User: "1337:1337",
    Env: ["PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
    Entrypoint: ["/usr/local/bin/pilot-agent"],
    WorkingDir: "/",
    Labels: {
      "org.opencontainers.image.title": "pilot-agent",
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.licenses": "Apache-2.0",
    },
  };
}

function agentEntries(sbom: string, withoutCodeCache: boolean) {
  const own = ["package.json", "LICENSE", "THIRD-PARTY-NOTICES"].map((name) =>
    file(`${HOME}/${name}`, readFileSync(join(ROOT, name))),
  );
  // The record of what dist/ was built from names this checkout's folder.
  const isUseless = (path: string) => path.startsWith("types/") || path === "build-inputs.sha256";
  const wanted = (path: string) => !isUseless(path) && !(withoutCodeCache && path.endsWith(".cache"));
  return [
    ...own,
    ...folderEntries(join(ROOT, "bin"), `${HOME}/bin`, () => true).map((entry) => ({ ...entry, mode: 0o755 })),
    ...folderEntries(join(ROOT, "dist"), `${HOME}/dist`, wanted),
    link("usr/local/bin/pilot-agent", `/${HOME}/bin/pilot-agent`),
    file("usr/share/doc/pilot-agent/sbom.spdx.json", sbom),
  ];
}

function readProject(): { readonly version: string; readonly npm: readonly Component[] } {
  const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
  const { version } = JSON.parse(read("package.json")) as { version: string };
  const bundled = [...read("THIRD-PARTY-NOTICES").matchAll(/^(\S+) \(https:\/\/\S+\), /gm)].map(
    ([, name = ""]) => name,
  );
  const npm = bundled.map((name): Component => {
    const found = JSON.parse(read(`node_modules/${name}/package.json`)) as { version: string; license: string };
    return { name, version: found.version, license: found.license, purl: `pkg:npm/${name}@${found.version}` };
  });
  return { version, npm: [component("pilot-agent", version, `pkg:npm/pilot-agent@${version}`, "Apache-2.0"), ...npm] };
}

async function envoyComponent({ path, content }: Program): Promise<Component> {
  const { stdout, code, output, error } = await runProgram(path, ["--version"]);
  const version = /\/(\d+\.\d+\.\d+[^/]*)\//.exec(stdout)?.[1];
  if (code !== 0 || version === undefined)
    throw new Error(`${path} --version does not name a version: ${error?.message ?? output.trim()}`);
  return component("envoy", version, `pkg:github/envoyproxy/envoy@v${version}`, "Apache-2.0", content);
}

function component(name: string, version: string, purl: string, license: string, content?: Buffer): Component {
  const sha256 = content && createHash("sha256").update(content).digest("hex");
  return { name, version, purl, license, ...(sha256 !== undefined && { sha256 }) };
}

function thisArchitecture(): keyof typeof ARCHITECTURES {
  const { arch, platform } = process;
  if (platform === "linux" && (arch === "x64" || arch === "arm64")) return arch;
  throw new Error(
    `no image can be built on ${platform}-${arch}: it is made of this machine's own programs (linux-x64, linux-arm64)`,
  );
}

function totalBytes(blobs: readonly Descriptor[]): number {
  return blobs.reduce((total, { size }) => total + size, 0);
}
