import type { FrameSink } from "./frame-scanner.ts";

/** A call as frames in pieces: nothing is assembled, decoded or decompressed. */
export interface FrameStream {
  /** Resolves when the peer's side ended cleanly; rejects with a GrpcError. At most once per call. */
  readFrames(sink: FrameSink): Promise<void>;
  /** Announces a frame; exactly `length` bytes have to follow before the next one. */
  writeFrameStart(length: number, compressed?: boolean): void;
  /** Undefined while there is room, else a promise to wait for before more is written. Throws when the call is over. */
  writeFrameBytes(bytes: Uint8Array): Promise<void> | undefined;
}
