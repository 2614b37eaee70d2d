import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Architecture, thisArchitecture } from "./architecture.ts";
import {
  type Descriptor,
  type Layer,
  type PlatformImage,
  writeArchive,
  writeIndex,
  writeLayer,
  writeManifest,
} from "./oci.ts";
import { collectParts, type Program } from "./parts.ts";
import { debianEntries, file, folderEntries, link, withFolders } from "./root-filesystem.ts";
import { buildSbom, type Component } from "./sbom.ts";
import type { TarEntry } from "./tar.ts";

export interface ImageOptions {
  /** Gets `oci/` (an OCI layout), `image.tar` (for docker, podman and ctr) and `sbom.spdx.json`. */
  readonly output: string;
  /** `HOST/NAME:TAG`, each a name of the image. */
  readonly names: readonly string[];
  readonly architectures: readonly Architecture[];
  /** Path of the Envoy to take for this machine's architecture. */
  readonly envoy?: string | undefined;
  /** Leaves out what V8 compiled, which differs between two builds of the same sources. */
  readonly withoutCodeCache: boolean;
  /** Modification time of all files, SOURCE_DATE_EPOCH of reproducible builds. */
  readonly epochSeconds: number;
  /** 9 when absent; 1 makes a larger image in a fifth of the time, for tests. */
  readonly gzipLevel?: number;
  /** One line for a human about what is being fetched. */
  progress?(text: string): void;
}

export interface BuiltImage {
  /** Of the manifest, or of the index of several platforms. */
  readonly digest: string;
  readonly archive: string;
  readonly sboms: readonly string[];
  /** In the order of the option. */
  readonly platforms: readonly BuiltPlatform[];
}

export interface BuiltPlatform {
  readonly platform: string;
  readonly digest: string;
  /** As stored and sent. */
  readonly compressedBytes: number;
  readonly layers: readonly Layer[];
}

/** What one platform's image is made of, ready to be packed. */
interface Contents {
  readonly architecture: Architecture;
  readonly sbom: string;
  readonly layers: readonly { readonly by: string; readonly entries: readonly TarEntry[] }[];
}

const ROOT = resolve(import.meta.dirname, "..");
const HOME = "usr/local/lib/pilot-agent";

/** The image from this checkout's dist/, Node, Envoy and Debian's packages. Nothing is written where a part of it is missing. */
export async function buildImage(options: ImageOptions): Promise<BuiltImage> {
  const { output, names, architectures } = options;
  if (!existsSync(join(ROOT, "dist/main.js"))) throw new Error("dist/ is missing: npm run build");
  const project = readProject();
  const gathered: Contents[] = [];
  for (const architecture of architectures) gathered.push(await gather(architecture, project, options));

  const layout = join(output, "oci");
  rmSync(layout, { recursive: true, force: true });
  mkdirSync(layout, { recursive: true });
  // Those of an earlier build for other platforms.
  for (const name of readdirSync(output).filter((found) => /^sbom\b.*\.spdx\.json$/.test(found)))
    rmSync(join(output, name));
  const images: PlatformImage[] = [];
  // One after the other: names of unfinished layers are the same for each.
  for (const contents of gathered) images.push(await writeImage(layout, contents, project.version, options));
  const named = writeIndex(layout, names, images);
  const archive = join(output, "image.tar");
  await writeArchive(archive, layout, { names, named, images });
  return {
    digest: named.digest,
    archive,
    sboms: writeSboms(output, gathered),
    platforms: images.map(({ architecture, manifest, config, layers }) => ({
      platform: `linux/${architecture}`,
      digest: manifest.digest,
      compressedBytes: totalBytes([manifest, config, ...layers]),
      layers,
    })),
  };
}

async function gather(architecture: Architecture, project: Project, options: ImageOptions): Promise<Contents> {
  const progress = options.progress ?? (() => undefined);
  const parts = await collectParts(architecture, { envoy: options.envoy, progress });
  const { node, envoy } = parts;
  const debian = await debianEntries(parts);
  const sbom = buildSbom({
    name: "pilot-agent",
    version: project.version,
    createdSeconds: options.epochSeconds,
    debian: debian.packages,
    components: [
      component("node", node.version, `pkg:generic/node@${node.version}`, "MIT", node.content),
      component("envoy", envoy.version, `pkg:github/envoyproxy/envoy@v${envoy.version}`, "Apache-2.0", envoy.content),
      ...project.npm,
    ],
  });
  const program = (name: string, { content }: Program) => withFolders([file(`usr/local/bin/${name}`, content, 0o755)]);
  // Compiled code is for the processor that compiled it; the launcher does without.
  const withoutCodeCache = options.withoutCodeCache || architecture !== thisArchitecture();
  const layers = [
    { by: "Debian packages", entries: debian.entries },
    { by: `Node ${node.version}`, entries: program("node", node) },
    { by: "Envoy", entries: program("envoy", envoy) },
    { by: `pilot-agent ${project.version}`, entries: withFolders(agentEntries(sbom, withoutCodeCache)) },
  ];
  return { architecture, sbom, layers };
}

async function writeImage(
  layout: string,
  { architecture, layers: contents }: Contents,
  version: string,
  { epochSeconds, gzipLevel }: ImageOptions,
): Promise<PlatformImage> {
  const layers = await Promise.all(
    contents.map(({ by, entries }) => writeLayer(layout, by, entries, epochSeconds, gzipLevel)),
  );
  return writeManifest(layout, layers, { architecture, createdSeconds: epochSeconds, config: imageConfig(version) });
}

/** `sbom.spdx.json`, or one for each of several platforms. Returns their paths. */
function writeSboms(output: string, gathered: readonly Contents[]): string[] {
  return gathered.map(({ architecture, sbom }) => {
    const path = join(output, gathered.length === 1 ? "sbom.spdx.json" : `sbom.${architecture}.spdx.json`);
    writeFileSync(path, sbom);
    return path;
  });
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

interface Project {
  readonly version: string;
  /** The agent, and what is bundled with it. */
  readonly npm: readonly Component[];
}

function readProject(): Project {
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

function component(name: string, version: string, purl: string, license: string, content?: Buffer): Component {
  const sha256 = content && createHash("sha256").update(content).digest("hex");
  return { name, version, purl, license, ...(sha256 !== undefined && { sha256 }) };
}

function totalBytes(blobs: readonly Descriptor[]): number {
  return blobs.reduce((total, { size }) => total + size, 0);
}
