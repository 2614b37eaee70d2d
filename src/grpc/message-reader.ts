import type { Readable } from "node:stream";
import { errorMessage } from "../base/coded-error.ts";
import { decompress, type Encoding } from "./compression.ts";
import { FrameScanner, pumpFrames } from "./frame-scanner.ts";
import { assembleMessages } from "./message-assembler.ts";
import { GrpcError, toGrpcError } from "./status.ts";

export interface MessageReaderOptions<Message> {
  readonly decode: (bytes: Buffer) => Message;
  readonly maxBytes: number;
  /** Asked before each message is received, with the most bytes it may have; a promise holds the peer back. */
  readonly beforeMessage?: (length: number) => Promise<void> | undefined;
  /** The peer's grpc-encoding. Asked late: a client learns it with the answer's headers. */
  readonly encoding: () => Encoding | undefined;
  /** The peer's side ended cleanly. */
  readonly onEnd: () => void;
  /** The bytes are not gRPC, or too many, or do not decode. */
  readonly onFault: (fault: GrpcError) => void;
  /** The consumer left the iteration early. */
  readonly onReturn: () => void;
}

interface Waiter {
  readonly resolve: (frame: Frame | undefined) => void;
  readonly reject: (failure: GrpcError) => void;
}

interface Frame {
  readonly bytes: Buffer;
  readonly compressed: boolean;
}

/** The incoming messages of one call, read on demand: the network is paused while a message waits for its consumer. */
export class MessageReader<Message> implements AsyncIterableIterator<Message> {
  readonly #options: MessageReaderOptions<Message>;
  readonly #frames: Frame[] = [];
  readonly #waiters: Waiter[] = [];
  #room: (() => void) | undefined;
  #end: { readonly failure: GrpcError | undefined } | undefined;

  constructor(options: MessageReaderOptions<Message>) {
    this.#options = options;
  }

  /** Another stream may follow one that has brought nothing. */
  readFrom(stream: Readable): void {
    const options = this.#options;
    const messages = assembleMessages((bytes, compressed) => this.#deliver({ bytes, compressed }));
    const sink = {
      ...messages,
      start(length: number, compressed: boolean) {
        messages.start(length, compressed);
        return options.beforeMessage?.(compressed ? options.maxBytes : length);
      },
    };
    pumpFrames(stream, new FrameScanner(sink, options.maxBytes), (failure) => {
      if (failure === undefined) options.onEnd();
      else this.#fault(toGrpcError(failure));
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Message, undefined>> {
    const frame = await this.#take();
    if (frame === undefined) return { done: true, value: undefined };
    try {
      const bytes = frame.compressed ? await this.#decompress(frame.bytes) : frame.bytes;
      return { done: false, value: this.#options.decode(bytes) };
    } catch (failure) {
      const fault = failure instanceof GrpcError ? failure : undecodable(failure);
      this.#fault(fault);
      throw fault;
    }
  }

  async return(): Promise<IteratorResult<Message, undefined>> {
    this.#options.onReturn();
    return { done: true, value: undefined };
  }

  /** No more messages will come; those waiting are still handed out, then the failure, if any. */
  end(failure?: GrpcError): void {
    if (this.#end !== undefined) return;
    this.#end = { failure };
    for (const waiter of this.#waiters.splice(0)) settle(waiter, failure);
  }

  /** Ends at once; messages that wait are dropped. */
  abort(failure?: GrpcError): void {
    this.#frames.length = 0;
    this.end(failure);
  }

  #take(): Promise<Frame | undefined> {
    const frame = this.#frames.shift();
    if (frame !== undefined) {
      if (this.#frames.length === 0) this.#makeRoom();
      return Promise.resolve(frame);
    }
    if (this.#end !== undefined) {
      return this.#end.failure === undefined ? Promise.resolve(undefined) : Promise.reject(this.#end.failure);
    }
    return new Promise((resolve, reject) => void this.#waiters.push({ resolve, reject }));
  }

  #deliver(frame: Frame): void | Promise<void> {
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) return waiter.resolve(frame);
    if (this.#end !== undefined) return;
    this.#frames.push(frame);
    // One promise covers all messages of a chunk: it settles when the last of them is taken.
    if (this.#room !== undefined) return;
    return new Promise((resolve) => {
      this.#room = resolve;
    });
  }

  #makeRoom(): void {
    this.#room?.();
    this.#room = undefined;
  }

  #decompress(bytes: Buffer): Promise<Buffer> {
    return decompress(bytes, this.#options.encoding(), this.#options.maxBytes);
  }

  #fault(fault: GrpcError): void {
    this.end(fault);
    this.#options.onFault(fault);
  }
}

function settle(waiter: Waiter, failure: GrpcError | undefined): void {
  if (failure === undefined) waiter.resolve(undefined);
  else waiter.reject(failure);
}

function undecodable(cause: unknown): GrpcError {
  const text = `grpc: failed to unmarshal the received message: ${errorMessage(cause)}`;
  return new GrpcError("INTERNAL", text, { cause });
}
