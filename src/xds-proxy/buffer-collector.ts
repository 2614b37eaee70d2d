import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { CROWDED_STREAMS } from "./open-upstream.ts";

/** Frees the buffers of bytes that have passed, before they are many. */
export interface BufferCollector {
  /** There are so many streams now. */
  setStreams(streams: number): void;
  /** Bytes came in on one of them. */
  received(bytes: number): void;
}

/** The engine's collector: the young objects only, or all. */
export type Collect = (options?: { readonly type: "minor" }) => void;

interface Pace {
  /** How many bytes pass between two looks. */
  readonly lookBytes: number;
  /** Memory of buffers, in use or not, from which on old ones are collected too. */
  readonly fullBytes: number;
  /** A full collection takes milliseconds: one in this many looks at most. */
  readonly looksPerFull: number;
  /** The same after a futile one: what slow clients or compressed responses hold is in use. */
  readonly looksAfterFutile: number;
}

const MB = 1024 * 1024;
/** A full collection was futile when this many times the limit is left. */
const FUTILE = 1.25;
const FEW_STREAMS: Pace = { lookBytes: 6 * MB, fullBytes: 16 * MB, looksPerFull: 8, looksAfterFutile: 8 };
/** Each has buffers in use, which are taken for old ones sooner: memory is dearer than the processor's time then. */
const MANY_STREAMS: Pace = { lookBytes: 3 * MB, fullBytes: 11 * MB, looksPerFull: 4, looksAfterFutile: 24 };

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
  let wasFutile = false;
  const look = ({ looksPerFull, looksAfterFutile, fullBytes }: Pace) => {
    collect ??= findCollect();
    looks += 1;
    // Buffers are freed on the side: what is left is known at the next look.
    if (looks === 1) wasFutile = bufferBytes() >= FUTILE * fullBytes;
    if (looks < (wasFutile ? looksAfterFutile : looksPerFull) || bufferBytes() < fullBytes)
      return collect?.({ type: "minor" });
    looks = 0;
    collect?.();
  };
  let pace = FEW_STREAMS;
  return {
    setStreams(streams) {
      pace = streams < CROWDED_STREAMS ? FEW_STREAMS : MANY_STREAMS;
    },
    received(bytes) {
      since += bytes;
      if (since < pace.lookBytes) return;
      since = 0;
      look(pace);
    },
  };
}

/** Only a context made while the flag is set has the function; it is visible nowhere else. */
export function engineCollect(): Collect | undefined {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("globalThis.gc");
  setFlagsFromString("--no-expose-gc");
  return typeof collect === "function" ? (collect as Collect) : undefined;
}
