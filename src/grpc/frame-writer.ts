import type { Writable } from "node:stream";
import { buildFrameHeader, FRAME_HEADER_BYTES } from "./frame-scanner.ts";
import { GrpcError } from "./status.ts";

/** Below this, one copy is cheaper than a second trip through the stream. */
const COPY_BYTES = 16 * 1024;

/**
 * What may wait in the stream before writers are held back. Its own mark is as small as one piece that comes in, so that a reader which
 * passes pieces on would stop and start for each of them (bench/xds-forward).
 */
const AHEAD_BYTES = 64 * 1024;

/** Outgoing frames of one call. A returned promise says that the peer is behind: it settles when there is room again. */
export class FrameWriter {
  readonly #stream: Writable;
  readonly #maxBytes: number;
  /** What all writers without room wait for, and its two ends. */
  #drained: Promise<void> | undefined;
  #resolveDrained: (() => void) | undefined;
  #rejectDrained: ((failure: GrpcError) => void) | undefined;
  #isListening = false;
  #closed: { readonly failure: GrpcError | undefined } | undefined;

  constructor(stream: Writable, maxBytes: number) {
    this.#stream = stream;
    this.#maxBytes = maxBytes;
  }

  write(payload: Uint8Array): Promise<void> | undefined {
    this.#check(payload.length);
    if (payload.length <= COPY_BYTES) return this.writeBytes(frame(payload));
    this.#stream.cork();
    this.#stream.write(buildFrameHeader(payload.length));
    const wait = this.writeBytes(payload);
    this.#stream.uncork();
    return wait;
  }

  /** One frame from several chunks, none of which is copied: what many calls send is in memory once. */
  writeChunks(chunks: readonly Uint8Array[], compressed = false): Promise<void> | undefined {
    let length = 0;
    for (const chunk of chunks) length += chunk.length;
    this.#check(length);
    this.#stream.cork();
    let hasRoom = this.#stream.write(buildFrameHeader(length, compressed));
    for (const chunk of chunks) if (chunk.length > 0) hasRoom = this.#stream.write(chunk);
    this.#stream.uncork();
    return hasRoom ? undefined : this.#whenDrained();
  }

  /** Announces a frame whose payload follows through `writeBytes`. */
  writeStart(length: number, compressed: boolean): void {
    this.#check(length);
    this.#stream.write(buildFrameHeader(length, compressed));
  }

  writeBytes(bytes: Uint8Array): Promise<void> | undefined {
    if (this.#closed !== undefined) throw this.#reason();
    if (this.#stream.write(bytes) || this.#stream.writableLength < AHEAD_BYTES) return undefined;
    return this.#whenDrained();
  }

  /** What was written will be written elsewhere: waiting writers may go on. */
  readonly release = (): void => {
    const resolve = this.#resolveDrained;
    this.#drained = undefined;
    this.#resolveDrained = undefined;
    this.#rejectDrained = undefined;
    resolve?.();
  };

  /** The call is over: waiting writers are woken and later writes throw, with the failure if there was one. */
  close(failure?: GrpcError): void {
    this.#closed ??= { failure };
    this.#rejectDrained?.(this.#reason());
  }

  /** Created only when needed: most calls end well, and errors are expensive (bench/grpc-echo). */
  #reason(): GrpcError {
    return this.#closed?.failure ?? new GrpcError("CANCELLED", "the call has already ended");
  }

  #check(length: number): void {
    if (this.#closed !== undefined) throw this.#reason();
    if (length <= this.#maxBytes) return;
    const text = `grpc: trying to send message larger than max (${length} vs. ${this.#maxBytes})`;
    throw new GrpcError("RESOURCE_EXHAUSTED", text);
  }

  /** One promise, however many writers wait. Functions are made once: code compiled for those made each time dies with them. */
  #whenDrained(): Promise<void> {
    if (this.#drained !== undefined) return this.#drained;
    if (!this.#isListening) this.#stream.on("drain", this.release);
    this.#isListening = true;
    this.#drained = new Promise<void>(this.#storeEnds);
    this.#drained.catch(ignore); // a writer that does not await must not bring the process down
    return this.#drained;
  }

  readonly #storeEnds = (resolve: () => void, reject: (failure: GrpcError) => void): void => {
    this.#resolveDrained = resolve;
    this.#rejectDrained = reject;
  };
}

function ignore(): void {}

function frame(payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(payload.length, 1);
  bytes.set(payload, FRAME_HEADER_BYTES);
  return bytes;
}
