import { closeSync, openSync, readFileSync, readlinkSync, readSync, rmSync, statSync, writeSync } from "node:fs";

/** Envoy multiplies the id by ten and adds the epoch's remainder; the result has to fit 32 bits. */
const MAX_BASE_ID = 0xffff_ffff / 10 - 1;

/** What Envoys of one base id share: abstract sockets and a piece of shared memory. */
export interface HotRestartMemory {
  readonly baseId: number;
  /** The file of the shared memory, which Envoy creates and leaves behind. */
  readonly path: string;
  /** Whether a child has begun to take over and is not done. Undefined when the memory has another layout than this one knows. */
  isInitializing(): boolean | undefined;
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
const INITIALIZING = 1n;

export function openHotRestartMemory(identity: string, folder = FOLDER): HotRestartMemory {
  const taken = parseHotRestartSockets(readTextOrEmpty("/proc/net/unix"));
  const isTaken = (baseId: number) => [0, 1, 2].some((remainder) => taken.has(baseId * 10 + remainder));
  const baseId = pickBaseId(hashOf(`${networkNamespace()}\0${identity}`), isTaken);
  const path = `${folder}/envoy_shared_memory_${baseId * 10}`;
  return {
    baseId,
    path,
    isInitializing: () => {
      const flags = readFlags(path);
      return flags === undefined ? undefined : (flags & INITIALIZING) === INITIALIZING;
    },
    clearInitializingMark: () => clearMark(path),
    // Envoy leaves it behind; only this agent uses this id.
    remove: () => rmSync(path, { force: true }),
  };
}

function readFlags(path: string): bigint | undefined {
  return withMemory(path, "r", (_file, content) => content.readBigUInt64LE(LAYOUT.flagsOffset));
}

function clearMark(path: string): boolean {
  const written = withMemory(path, "r+", (file) => writeSync(file, Buffer.alloc(8), 0, 8, LAYOUT.flagsOffset));
  return written === 8;
}

/** Undefined when the memory is missing or not of the known layout. */
function withMemory<Result>(
  path: string,
  mode: "r" | "r+",
  use: (file: number, content: Buffer) => Result,
): Result | undefined {
  try {
    if (statSync(path).size !== LAYOUT.bytes) return undefined;
    const file = openSync(path, mode);
    try {
      const content = Buffer.alloc(LAYOUT.bytes);
      readSync(file, content, 0, LAYOUT.bytes, 0);
      return content.readBigUInt64LE(LAYOUT.versionOffset) === LAYOUT.version ? use(file, content) : undefined;
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}

/** FNV-1a: spreads names well, and is there without the code for cryptography. */
const FNV_BASIS = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

function hashOf(text: string): number {
  let hash = FNV_BASIS;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, FNV_PRIME) >>> 0;
  return hash;
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

/**
 * Picks the first free id of a row that starts at the agent's own id. That follows from what tells agents apart (network
 * namespace, admin address, configuration path), so that a restarted agent comes back to the id whose stale shared memory Envoy
 * replaces, and two agents of a machine start at different places.
 */
export function pickBaseId(identityHash: number, isTaken: (baseId: number) => boolean): number {
  const first = 1 + (identityHash % Math.floor(MAX_BASE_ID / 2));
  for (let baseId = first; baseId < first + 1000; baseId++) {
    if (!isTaken(baseId)) return baseId;
  }
  return first;
}

/** Base ids (times ten, plus epoch remainder) whose sockets are open, from the text of /proc/net/unix. */
export function parseHotRestartSockets(procNetUnix: string): ReadonlySet<number> {
  const ids = new Set<number>();
  for (const [, id] of procNetUnix.matchAll(/@envoy_domain_socket_(?:udp_)?(?:parent|child)_(\d+)/g))
    ids.add(Number(id));
  return ids;
}
