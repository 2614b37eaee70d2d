import { moduleName, parseOciUrl } from "./image-reference.ts";
import type { RemoteModule } from "./remote-module.ts";

export interface ModuleKey {
  readonly name: string;
  /** Hex: of the module for http, of the image's manifest for oci. */
  readonly checksum: string;
}

export interface ModuleEntry extends ModuleKey {
  readonly path: string;
  readonly bytes: number;
  lastUsedAt: number;
}

/** What an address that may change its content gave last, and for which version of which resource. */
interface AddressRow {
  checksum: string;
  readonly versions: Map<string, string>;
}

/** What is in the cache and which address stands for what. Knows no files and no clock. */
export class ModuleIndex {
  readonly #entries = new Map<string, ModuleEntry>();
  readonly #addresses = new Map<string, AddressRow>();
  /** Image index digests to the manifest chosen from them. */
  readonly #aliases = new Map<string, string>();

  get size(): number {
    return this.#entries.size;
  }

  /** The content that will do for this request without asking anybody; "" when only the network knows. */
  known(module: RemoteModule): string {
    const name = moduleName(module.url);
    const pinned = pinnedChecksum(module);
    if (pinned !== "") return this.#aliases.get(keyText({ name, checksum: pinned })) ?? pinned;
    if (!isMovable(module.url)) return "";
    const row = this.#addresses.get(module.url);
    if (row === undefined) return "";
    const isSame = row.versions.get(module.resourceName) === module.resourceVersion;
    row.versions.set(module.resourceName, module.resourceVersion);
    return isSame || ignoresVersion(module) ? row.checksum : "";
  }

  find(key: ModuleKey): ModuleEntry | undefined {
    return this.#entries.get(keyText(key));
  }

  add(entry: ModuleEntry): void {
    this.#entries.set(keyText(entry), entry);
  }

  /** The request was answered with that content. */
  noteUse(module: RemoteModule, checksum: string): void {
    const pinned = pinnedChecksum(module);
    if (pinned !== "" && pinned !== checksum) {
      this.#aliases.set(keyText({ name: moduleName(module.url), checksum: pinned }), checksum);
    }
    if (!isMovable(module.url)) return;
    const row = this.#addresses.get(module.url);
    const versions = row?.versions ?? new Map<string, string>();
    versions.set(module.resourceName, module.resourceVersion);
    this.#addresses.set(module.url, { checksum, versions });
  }

  /** With everything that leads to it. */
  remove(key: ModuleKey): void {
    this.#entries.delete(keyText(key));
    for (const [url, row] of this.#addresses) {
      if (row.checksum === key.checksum && moduleName(url) === key.name) this.#addresses.delete(url);
    }
    for (const [alias, checksum] of this.#aliases) {
      if (checksum === key.checksum && alias.startsWith(`${key.name}\0`)) this.#aliases.delete(alias);
    }
  }

  entries(): Iterable<ModuleEntry> {
    return this.#entries.values();
  }

  unusedSince(time: number): readonly ModuleEntry[] {
    return [...this.#entries.values()].filter((entry) => entry.lastUsedAt < time);
  }

  holds(path: string): boolean {
    return [...this.#entries.values()].some((entry) => entry.path === path);
  }
}

/** What the sender insists on: its checksum, else the digest in the image's address. */
export function pinnedChecksum({ checksum, url }: Pick<RemoteModule, "checksum" | "url">): string {
  if (checksum !== "") return checksum;
  const digest = parseOciUrl(url)?.digest;
  return digest?.startsWith("sha256:") ? digest.slice("sha256:".length) : "";
}

/** Whether the content behind the address may change. */
function isMovable(url: string): boolean {
  return /^https?:/i.test(url) || (/^oci:/i.test(url) && !url.includes("@"));
}

/** A changed resource alone is no reason to pull again, except where that is asked for or the tag says so. */
function ignoresVersion({ pullPolicy, url }: RemoteModule): boolean {
  if (pullPolicy !== "unspecified") return pullPolicy === "if-not-present";
  return !(/^oci:/i.test(url) && url.endsWith(":latest"));
}

function keyText({ name, checksum }: ModuleKey): string {
  return `${name}\0${checksum}`;
}
