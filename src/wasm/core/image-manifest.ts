import { isJsonObject } from "../../base/json-object.ts";
import { WasmError } from "../wasm-error.ts";

export const DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json";
const OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json";
const OCI_INDEX = "application/vnd.oci.image.index.v1+json";
export const MANIFEST_TYPES: readonly string[] = [DOCKER_MANIFEST, OCI_MANIFEST, DOCKER_LIST, OCI_INDEX];

export interface LayerDescriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

interface PlatformEntry {
  readonly digest: string;
  readonly os: string;
  readonly architecture: string;
}

export type ImageDocument =
  | { readonly kind: "manifest"; readonly mediaType: string; readonly layers: readonly LayerDescriptor[] }
  | { readonly kind: "index"; readonly entries: readonly PlatformEntry[] };

/** A manifest or an index, distinguished by its own media type, the answer's, or what it holds. */
export function parseImageDocument(bytes: Buffer, contentType: string): ImageDocument {
  const document = parseObject(bytes);
  const mediaType = mediaTypeOf(document);
  const type = mediaType === "" ? (contentType.split(";")[0] ?? "").trim() : mediaType;
  const isIndex = type === DOCKER_LIST || type === OCI_INDEX;
  if (isIndex || (Array.isArray(document.manifests) && !Array.isArray(document.layers)))
    return { kind: "index", entries: list(document.manifests).map(toEntry) };
  return { kind: "manifest", mediaType, layers: list(document.layers).map(toLayer) };
}

/**
 * Modules do not depend on the processor, but images of modules are often built as if they did: the machine's own platform first,
 * then the one that everybody builds for, then the only one there is.
 */
export function choosePlatform(entries: readonly PlatformEntry[], architecture: string): string {
  const find = (os: string, wanted: string) =>
    entries.find((entry) => entry.os === os && entry.architecture === wanted)?.digest;
  const neutral = entries.find((entry) => entry.architecture === "wasm")?.digest;
  const only = entries.length === 1 ? entries[0]?.digest : undefined;
  const chosen = find("linux", architecture) ?? find("linux", "amd64") ?? neutral ?? only;
  if (chosen === undefined)
    throw new WasmError("manifest", `no child with platform linux/${architecture} or linux/amd64 in the image index`);
  return chosen;
}

function toEntry(value: unknown): PlatformEntry {
  const entry = asRecord(value);
  const platform = typeof entry.platform === "object" && entry.platform !== null ? asRecord(entry.platform) : {};
  return { digest: digest(entry.digest), os: text(platform.os), architecture: text(platform.architecture) };
}

function toLayer(value: unknown): LayerDescriptor {
  const layer = asRecord(value);
  const size = typeof layer.size === "number" && Number.isSafeInteger(layer.size) ? layer.size : 0;
  return { mediaType: mediaTypeOf(layer), digest: digest(layer.digest), size };
}

/** It is quoted in errors, so it is one or nothing: no line breaks, no megabytes. */
function mediaTypeOf({ mediaType }: Record<string, unknown>): string {
  return /^[\x21-\x7e]{1,255}$/.test(text(mediaType)) ? text(mediaType) : "";
}

/** Digests become part of addresses and file names, so nothing else than a SHA-256 passes. */
function digest(value: unknown): string {
  if (typeof value === "string" && /^sha256:[0-9a-f]{64}$/.test(value)) return value;
  throw new WasmError("manifest", "the image manifest has a descriptor without a sha256 digest");
}

function parseObject(bytes: Buffer): Record<string, unknown> {
  try {
    return asRecord(JSON.parse(bytes.toString("utf8")));
  } catch (cause) {
    if (cause instanceof WasmError) throw cause;
    throw new WasmError("manifest", "the image manifest is not a JSON document", { cause });
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  if (isJsonObject(value)) return value;
  throw new WasmError("manifest", "the image manifest is malformed");
}

function list(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw new WasmError("manifest", "the image manifest is malformed");
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
