import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, mkdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { TAR_END, type TarEntry, tarHeader, tarPadding, tarPieces } from "./tar.ts";

/** A blob of an OCI layout. */
export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:HEX` of the stored bytes. */
  readonly digest: string;
  readonly size: number;
}

export interface Layer extends Descriptor {
  /** Of the archive before compression. */
  readonly diffId: string;
  readonly createdBy: string;
}

export interface ImageConfig {
  readonly architecture: string;
  readonly createdSeconds: number;
  readonly config: Readonly<Record<string, unknown>>;
}

/** The image for one architecture. */
export interface PlatformImage {
  readonly architecture: string;
  readonly manifest: Descriptor;
  readonly config: Descriptor;
  readonly layers: readonly Layer[];
}

const MEDIA = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
};

/** Packs entries as a layer of the layout in `folder`. Time, order and owners are the entries', so that the digest follows from them. */
export async function writeLayer(
  folder: string,
  createdBy: string,
  entries: readonly TarEntry[],
  mtimeSeconds: number,
  gzipLevel = 9,
): Promise<Layer> {
  const blobs = blobFolder(folder);
  const scratch = join(blobs, `.${createHash("sha256").update(createdBy).digest("hex").slice(0, 16)}`);
  const plain = createHash("sha256");
  const packed = createHash("sha256");
  const counted = function* () {
    for (const piece of tarPieces(entries, mtimeSeconds)) {
      plain.update(piece);
      yield piece;
    }
  };
  await pipeline(
    Readable.from(counted()),
    createGzip({ level: gzipLevel }),
    async function* (pieces: AsyncIterable<Buffer>) {
      for await (const piece of pieces) {
        packed.update(piece);
        yield piece;
      }
    },
    createWriteStream(scratch),
  );
  const hex = packed.digest("hex");
  renameSync(scratch, join(blobs, hex));
  const { size } = statSync(join(blobs, hex));
  return { mediaType: MEDIA.layer, digest: `sha256:${hex}`, size, diffId: `sha256:${plain.digest("hex")}`, createdBy };
}

/** Config and manifest of an image of these layers. */
export function writeManifest(
  folder: string,
  layers: readonly Layer[],
  { architecture, createdSeconds, config }: ImageConfig,
): PlatformImage {
  const created = new Date(createdSeconds * 1000).toISOString();
  const configBlob = writeBlob(folder, MEDIA.config, {
    created,
    architecture,
    os: "linux",
    config,
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ createdBy }) => ({ created, created_by: createdBy })),
  });
  const manifest = writeBlob(folder, MEDIA.manifest, {
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    config: configBlob,
    layers: layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
  });
  return { architecture, manifest, config: configBlob, layers };
}

/**
 * `index.json` and `oci-layout`: what makes the folder a layout, with one image under these names (`HOST/NAME:TAG`). Several platforms
 * are one image by an index of their own. Returns what the names lead to.
 */
export function writeIndex(folder: string, names: readonly string[], images: readonly PlatformImage[]): Descriptor {
  const manifests = images.map(({ manifest, architecture }) => ({
    ...manifest,
    platform: { architecture, os: "linux" },
  }));
  const [only] = manifests;
  const named =
    only !== undefined && manifests.length === 1
      ? only
      : writeBlob(folder, MEDIA.index, { schemaVersion: 2, mediaType: MEDIA.index, manifests });
  const entries = names.map((name) => ({
    ...named,
    annotations: { "io.containerd.image.name": name, "org.opencontainers.image.ref.name": tagOf(name) },
  }));
  const index = { schemaVersion: 2, mediaType: MEDIA.index, manifests: entries };
  writeFileSync(join(folder, "index.json"), JSON.stringify(index));
  writeFileSync(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  return named;
}

/**
 * The layout as one file that `docker load`, `podman load` and `ctr images import` take: an OCI archive which has the list of Docker's archives
 * too. Docker's list has no platforms: the first one is in it. Only the blobs of this image are in the file.
 */
export async function writeArchive(
  file: string,
  folder: string,
  image: {
    readonly names: readonly string[];
    /** As writeIndex returned it. */
    readonly named: Descriptor;
    readonly images: readonly PlatformImage[];
  },
): Promise<void> {
  const docker = image.images.slice(0, 1).map(({ config, layers }) => ({
    Config: blobPath(config),
    RepoTags: image.names,
    Layers: layers.map(blobPath),
  }));
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(docker));
  const blobs = image.images.flatMap(({ manifest, config, layers }) => [manifest, config, ...layers]);
  const paths = [image.named, ...blobs].map(blobPath).sort();
  const names = ["oci-layout", "index.json", "manifest.json", ...new Set(paths)];
  await pipeline(async function* () {
    for (const name of names) {
      const { size } = statSync(join(folder, name));
      yield tarHeader({ path: name, type: "file", mode: 0o644 }, size, 0);
      yield* createReadStream(join(folder, name), { highWaterMark: 1 << 20 });
      yield tarPadding(size);
    }
    yield TAR_END;
  }, createWriteStream(file));
}

function writeBlob(folder: string, mediaType: string, value: unknown): Descriptor {
  const bytes = Buffer.from(JSON.stringify(value));
  const hex = createHash("sha256").update(bytes).digest("hex");
  writeFileSync(join(blobFolder(folder), hex), bytes);
  return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
}

function blobFolder(folder: string): string {
  const blobs = join(folder, "blobs/sha256");
  mkdirSync(blobs, { recursive: true });
  return blobs;
}

function blobPath({ digest }: Descriptor): string {
  return `blobs/${digest.replace(":", "/")}`;
}

function tagOf(name: string): string {
  return /:([^:/]+)$/.exec(name)?.[1] ?? "latest";
}
