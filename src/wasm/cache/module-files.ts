import { createHash } from "node:crypto";
import { rmdirSync, rmSync, statSync } from "node:fs";
import { readdir, readFile, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode } from "../../base/coded-error.ts";
import { makeProxyDirectory, type ProxyOwner, writeProxyFile } from "../../files/proxy-file.ts";
import type { ModuleKey } from "../core/module-index.ts";
import { isWasmModule } from "../unpack/unwrap-module.ts";

export interface ModuleFiles {
  /** Undefined for a checksum that is none: it must not become a path. */
  pathOf(key: ModuleKey): string | undefined;
  write(key: ModuleKey, module: Buffer): Promise<{ readonly path: string; readonly bytes: number }>;
  /** A file of an earlier run, when it is what its name says. */
  adopt(key: ModuleKey): Promise<{ readonly path: string; readonly bytes: number } | undefined>;
  isIntact(path: string, bytes: number): Promise<boolean>;
  /** The file's time tells later runs, and other agents with the same directory, when it was last used. */
  touch(path: string, now: number): Promise<void>;
  /**
   * Removes a file that no agent has used since that time; false when one has. In one step, so that no agent can
   * begin to use it between the look and the removal.
   */
  removeUnused(path: string, time: number): boolean;
  /** Paths of files made by any run, not used since that time. */
  olderThan(time: number): Promise<readonly string[]>;
}

const VANISHED = new Set(["ENOENT", "EEXIST"]);
const WRITE_ATTEMPTS = 10;
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
      const content = sha256(module);
      for (let attempt = 1; ; attempt += 1) {
        try {
          await makeProxyDirectory(dirname(path), options);
          // An image's checksum does not tell what the file must be; it goes first, so that no module is ever without it.
          if (content !== key.checksum) await writeProxyFile(contentFile(path), content, options);
          await writeProxyFile(path, module, options);
          return { path, bytes: module.length };
        } catch (failure) {
          // The last old module of the folder was purged, and the folder with it, before or while it was looked at.
          if (VANISHED.has(errorCode(failure) ?? "") && attempt < WRITE_ATTEMPTS) continue;
          removeIfEmpty(dirname(path));
          throw failure;
        }
      }
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
    removeUnused(path, time) {
      const found = statSync(path, { throwIfNoEntry: false });
      if (found !== undefined && found.mtimeMs >= time) return false;
      rmSync(path, { force: true });
      rmSync(contentFile(path), { force: true });
      removeIfEmpty(dirname(path));
      return true;
    },
    async olderThan(time) {
      const folders = (await namesIn(directory)).filter((name) => CHECKSUM.test(name));
      const old: string[] = [];
      for (const folder of folders) {
        const names = (await namesIn(join(directory, folder))).filter((file) => OWN_FILE.test(file));
        for (const name of names) {
          // It has the time of its making, and goes with its module.
          if (name.endsWith(".sha256") && names.includes(name.replace(/\.sha256$/, ".wasm"))) continue;
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

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It has other modules, or is gone.
  }
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
