import { errorMessage } from "../../base/coded-error.ts";
import {
  choosePlatform,
  DOCKER_MANIFEST,
  type ImageDocument,
  type LayerDescriptor,
  MANIFEST_TYPES,
  parseImageDocument,
} from "../core/image-manifest.ts";
import { joinErrors } from "../core/join-errors.ts";
import { gunzip } from "../unpack/gunzip.ts";
import { tarEntries } from "../unpack/tar-entries.ts";
import { WasmError } from "../wasm-error.ts";
import { digestOf, openRegistry, type RegistryOptions, type RegistrySession } from "./registry-session.ts";

const PLUGIN_FILE = "plugin.wasm";

export interface PreparedImage {
  /** Hex digest of the image's manifest. */
  readonly digest: string;
  /** That one, and the index's when the image was chosen from one: a reference may be pinned to either. */
  readonly digests: readonly string[];
  /** Downloads the module. */
  load(): Promise<Buffer>;
}

export interface PrepareImageOptions extends RegistryOptions {
  readonly maxBytes: number;
  /** As image indexes spell it: amd64, arm64 ... */
  readonly architecture: string;
}

type Manifest = ImageDocument & { readonly kind: "manifest" };

const KNOWN_DIGEST = /^sha(?:256|384|512):/;
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;
const DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip";
const COMPAT_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip";
const ARTIFACT_LAYER = "application/vnd.module.wasm.content.layer.v1+wasm";
const ARTIFACT_LAYERS = 2;

/** Asks the registry which image the reference means; its content is fetched only by `load`. */
export async function prepareImage(options: PrepareImageOptions): Promise<PreparedImage> {
  const { tag, digest } = options.reference;
  try {
    const session = await openRegistry(options);
    const first = await fetchDocument(session, digest ?? tag, digest);
    if (first.document.kind === "manifest") return prepared(session, first.document, [first.digest], options);
    const wanted = choosePlatform(first.document.entries, options.architecture);
    const child = await fetchDocument(session, wanted, wanted);
    if (child.document.kind === "index") throw new WasmError("manifest", "the image index holds another index");
    return prepared(session, child.document, [child.digest, first.digest], options);
  } catch (cause) {
    const code = cause instanceof WasmError ? cause.code : "manifest";
    throw new WasmError(code, `could not fetch manifest: ${errorMessage(cause)}`, { cause });
  }
}

async function fetchDocument(
  session: RegistrySession,
  name: string,
  wanted: string | undefined,
): Promise<{ readonly document: ImageDocument; readonly digest: string }> {
  const answer = await session.get("manifests", name, { accept: MANIFEST_TYPES, maxBytes: MAX_MANIFEST_BYTES });
  const promised = wanted ?? header(answer.headers["docker-content-digest"]);
  if (promised !== undefined) checkDigest(answer.bytes, promised);
  const type = answer.headers["content-type"] ?? "";
  return { document: parseImageDocument(answer.bytes, type), digest: digestOf(answer.bytes) };
}

function header(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" && KNOWN_DIGEST.test(value) ? value : undefined;
}

/** A reference may be pinned by any algorithm; what cannot be checked is not taken. */
function checkDigest(bytes: Buffer, promised: string): void {
  const [algorithm = ""] = promised.split(":");
  if (!KNOWN_DIGEST.test(promised))
    throw new WasmError("manifest", `cannot check digests of ${algorithm}: allowed are sha256, sha384 and sha512`);
  const found = digestOf(bytes, algorithm);
  if (found !== promised)
    throw new WasmError("manifest", `manifest digest: ${found} does not match requested digest: ${promised}`);
}

function prepared(
  session: RegistrySession,
  manifest: Manifest,
  digests: readonly string[],
  { maxBytes }: PrepareImageOptions,
): PreparedImage {
  const hex = digests.map((digest) => digest.replace(/^sha256:/, ""));
  return {
    digest: hex[0] ?? "",
    digests: hex,
    load: () => loadModule(manifest, (layer) => fetchBlob(session, layer, maxBytes), maxBytes),
  };
}

async function fetchBlob(session: RegistrySession, layer: LayerDescriptor, maxBytes: number): Promise<Buffer> {
  if (layer.size > maxBytes)
    throw new WasmError("too-large", `the layer has ${layer.size} bytes, more than the allowed ${maxBytes}`);
  const { bytes } = await session.get("blobs", layer.digest, { maxBytes });
  if (digestOf(bytes) !== layer.digest)
    throw new WasmError("checksum-mismatch", `layer ${layer.digest} came with the digest ${digestOf(bytes)}`);
  return bytes;
}

/** The forms in which modules are published, see docs/wasm.md. */
async function loadModule(
  { mediaType, layers }: Manifest,
  fetchLayer: (layer: LayerDescriptor) => Promise<Buffer>,
  maxBytes: number,
): Promise<Buffer> {
  if (layers.length === 0) throw new WasmError("invalid-module", "number of layers must be greater than zero");
  const fromArchive = async (layerType: string) => {
    const last = layers.at(-1);
    if (last?.mediaType !== layerType)
      throw new WasmError("invalid-module", `invalid media type ${last?.mediaType} (expect ${layerType})`);
    return extractPlugin(await fetchLayer(last), maxBytes);
  };
  if (mediaType === DOCKER_MANIFEST) {
    return fromArchive(DOCKER_LAYER).catch((cause: unknown) => {
      throw rewrapped("could not extract Wasm file from the image as Docker container", cause);
    });
  }
  const failures: unknown[] = [];
  const note = (failure: unknown) => void failures.push(failure);
  const module = (await fromArchive(COMPAT_LAYER).catch(note)) ?? (await fromArtifact(layers, fetchLayer).catch(note));
  if (module !== undefined) return module;
  const [compat, artifact] = failures.map(errorMessage);
  const both = joinErrors([
    `could not parse as compat variant: ${compat}`,
    `could not parse as oci variant: ${artifact}`,
  ]);
  throw rewrapped("the given image is in invalid format as an OCI image", failures[0], both);
}

async function fromArtifact(
  layers: readonly LayerDescriptor[],
  fetchLayer: (layer: LayerDescriptor) => Promise<Buffer>,
): Promise<Buffer> {
  if (layers.length !== ARTIFACT_LAYERS)
    throw new WasmError("invalid-module", `number of layers must be ${ARTIFACT_LAYERS} but got ${layers.length}`);
  const layer = layers.find(({ mediaType }) => mediaType === ARTIFACT_LAYER);
  if (layer === undefined) throw new WasmError("invalid-module", `could not find the layer of type ${ARTIFACT_LAYER}`);
  return fetchLayer(layer);
}

function rewrapped(text: string, cause: unknown, detail = errorMessage(cause)): WasmError {
  return new WasmError(cause instanceof WasmError ? cause.code : "invalid-module", `${text}: ${detail}`, { cause });
}

/** The plugin in an image layer (tar.gz), in any folder. */
export async function extractPlugin(layer: Buffer, maxBytes: number): Promise<Buffer> {
  for (const { name, data } of tarEntries(await gunzip(layer, maxBytes))) {
    if (name.slice(name.lastIndexOf("/") + 1) === PLUGIN_FILE) return data;
  }
  throw new WasmError("invalid-module", `${PLUGIN_FILE} not found in the archive`);
}
