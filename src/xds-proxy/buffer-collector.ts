import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Frees the buffers of bytes that have passed, before they are many. */
export interface BufferCollector {
  /** Bytes came in. */
  received(bytes: number): void;
}

/** The engine's collector: the young objects only, or all. */
export type Collect = (options?: { readonly type: "minor" }) => void;

/** How many bytes pass between two looks. */
const LOOK_BYTES = 6 * 1024 * 1024;
/** Memory of buffers, in use or not, from which on old ones are collected too. */
const FULL_BYTES = 16 * 1024 * 1024;
/** A full collection takes milliseconds, in vain when slow clients are what holds the buffers: one in this many looks at most. */
const LOOKS_PER_FULL = 8;

/**
 * The engine counts its own objects only: a buffer of 64 KiB is one small object to it, so that the buffers of forwarded bytes pile up to
 * tens of megabytes before it looks (bench/xds-forward). Collecting by bytes received keeps them to a few, at the same number of
 * collections.
 */
export function createBufferCollector(
  findCollect: () => Collect | undefined = engineCollect,
  bufferBytes: () => number = () => getHeapStatistics().external_memory,
): BufferCollector {
  let collect: Collect | undefined;
  let since = 0;
  let looks = 0;
  const look = () => {
    collect ??= findCollect();
    looks += 1;
    if (looks < LOOKS_PER_FULL || bufferBytes() < FULL_BYTES) return collect?.({ type: "minor" });
    looks = 0;
    collect?.();
  };
  return {
    received(bytes) {
      since += bytes;
      if (since < LOOK_BYTES) return;
      since = 0;
      look();
    },
  };
}

/** Only a context made while the flag is set has the function; nobody else gets to see it. */
export function engineCollect(): Collect | undefined {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("globalThis.gc");
  setFlagsFromString("--no-expose-gc");
  return typeof collect === "function" ? (collect as Collect) : undefined;
}
