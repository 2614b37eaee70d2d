import { createHash } from "node:crypto";
import { closeSync, openSync, readFileSync, readlinkSync, readSync, rmSync, statSync, writeSync } from "node:fs";
import { parseHotRestartSockets, pickBaseId } from "./core/base-id.ts";

/** What Envoys of one base id share: abstract sockets and a piece of shared memory. */
export interface HotRestartMemory {
  readonly baseId: number;
  /**
   * Takes back the "initializing" mark of a child that died before it was done; Envoy itself never does, and every later child
   * would be refused. False when the memory does not look as this version of the layout should.
   */
  clearInitializingMark(): boolean;
  remove(): void;
}

const FOLDER = "/dev/shm";
/** Layout of hot restart version 11: size, version, two process-shared mutexes, flags. */
const LAYOUT = { bytes: 104, version: 11n, versionOffset: 8, flagsOffset: 96 };

export function openHotRestartMemory(identity: string, folder = FOLDER): HotRestartMemory {
  const taken = parseHotRestartSockets(readTextOrEmpty("/proc/net/unix"));
  const isTaken = (baseId: number) => [0, 1, 2].some((remainder) => taken.has(baseId * 10 + remainder));
  const baseId = pickBaseId(hashOf(`${networkNamespace()}\0${identity}`), isTaken);
  const path = `${folder}/envoy_shared_memory_${baseId * 10}`;
  return {
    baseId,
    clearInitializingMark: () => clearMark(path),
    // Envoy leaves it behind; only this agent uses this id.
    remove: () => rmSync(path, { force: true }),
  };
}

function clearMark(path: string): boolean {
  try {
    if (statSync(path).size !== LAYOUT.bytes) return false;
    const file = openSync(path, "r+");
    try {
      const content = Buffer.alloc(LAYOUT.bytes);
      readSync(file, content, 0, LAYOUT.bytes, 0);
      if (content.readBigUInt64LE(LAYOUT.versionOffset) !== LAYOUT.version) return false;
      writeSync(file, Buffer.alloc(8), 0, 8, LAYOUT.flagsOffset);
      return true;
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
}

function hashOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE(0);
}

/** The sockets are per network namespace but the memory may be shared between them. */
function networkNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/net");
  } catch {
    return "";
  }
}

function readTextOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
