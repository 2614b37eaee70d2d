import { createHash } from "node:crypto";
import { readdir, readFile, rm, rmdir, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode } from "../../base/coded-error.ts";
import { makeProxyDirectory, type ProxyOwner, writeProxyFile } from "../../base/proxy-file.ts";
import type { ModuleKey } from "../core/module-index.ts";
import { isWasmModule } from "../unpack/unwrap-module.ts";

export interface ModuleFiles {
  /** Undefined for a checksum that is none: it must not become a path. */
  pathOf(key: ModuleKey): string | undefined;
  write(key: ModuleKey, module: Buffer): Promise<{ readonly path: string; readonly bytes: number }>;
  /** A file of an earlier run, when it is what its name says. */
  adopt(key: ModuleKey): Promise<{ readonly path: string; readonly bytes: number } | undefined>;
  isIntact(path: string, bytes: number): Promise<boolean>;
  /** The file's time says after a restart when it was last used. */
  touch(path: string, now: number): Promise<void>;
  remove(path: string): Promise<void>;
  /** Paths of files made by any run, not used since that time. */
  olderThan(time: number): Promise<readonly string[]>;
}

const CHECKSUM = /^[0-9a-f]{64}$/;
const OWN_FILE = /^(?:[0-9a-f]{64}\.(?:wasm|sha256)|\.[0-9a-f]{64}\.(?:wasm|sha256)\.[0-9a-z]+\.tmp)$/;

/** `<directory>/<sha256 of the module's name>/<checksum>.wasm`, written whole or not at all. */
export function openModuleFiles(directory: string, owner: ProxyOwner | undefined): ModuleFiles {
  const options = { access: "shared", owner } as const;
  const pathOf = ({ name, checksum }: ModuleKey) =>
    CHECKSUM.test(checksum) ? join(directory, sha256(name), `${checksum}.wasm`) : undefined;
  return {
    pathOf,
    async write(key, module) {
      const path = pathOf(key);
      if (path === undefined) throw new Error(`not a checksum: ${JSON.stringify(key.checksum)}`);
      await makeProxyDirectory(dirname(path), options);
      const content = sha256(module);
      // An image's checksum does not tell what the file must be; it goes first, so that no module is ever without it.
      if (content !== key.checksum) await writeProxyFile(contentFile(path), content, options);
      await writeProxyFile(path, module, options);
      return { path, bytes: module.length };
    },
    async adopt(key) {
      const path = pathOf(key);
      const module = path === undefined ? undefined : await readIfPresent(path);
      if (path === undefined || module === undefined || !isWasmModule(module)) return undefined;
      const content = sha256(module);
      const expected = (await readIfPresent(contentFile(path)))?.toString("latin1") ?? key.checksum;
      return content === expected ? { path, bytes: module.length } : undefined;
    },
    async isIntact(path, bytes) {
      const found = await stat(path).catch(() => undefined);
      return found?.isFile() === true && found.size === bytes;
    },
    async touch(path, now) {
      await utimes(path, now / 1000, now / 1000).catch(() => undefined);
    },
    async remove(path) {
      await rm(path, { force: true });
      await rm(contentFile(path), { force: true });
      // Only an empty folder goes.
      await rmdir(dirname(path)).catch(() => undefined);
    },
    async olderThan(time) {
      const folders = (await namesIn(directory)).filter((name) => CHECKSUM.test(name));
      const old: string[] = [];
      for (const folder of folders) {
        for (const name of (await namesIn(join(directory, folder))).filter((file) => OWN_FILE.test(file))) {
          const path = join(directory, folder, name);
          const found = await stat(path).catch(() => undefined);
          if (found?.isFile() && found.mtimeMs < time) old.push(path);
        }
      }
      return old;
    },
  };
}

/** The module's own checksum, beside a module that is named after its image. */
export function contentFile(modulePath: string): string {
  return modulePath.replace(/\.wasm$/, ".sha256");
}

export function sha256(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}

async function readIfPresent(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch(() => undefined);
}

async function namesIn(path: string): Promise<readonly string[]> {
  return readdir(path).catch((failure: unknown) => {
    if (errorCode(failure) === "ENOENT" || errorCode(failure) === "ENOTDIR") return [];
    throw failure;
  });
}
