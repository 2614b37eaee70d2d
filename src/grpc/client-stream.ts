import type { ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import type { CallLimit } from "./call-limit.ts";
import type { ClientSession } from "./client-session.ts";
import type { CallOptions, RawClientCall } from "./client-types.ts";
import { type Encoding, parseEncoding } from "./compression.ts";
import { FrameScanner, type FrameSink } from "./frame-scanner.ts";
import { FrameWriter } from "./frame-writer.ts";
import { Metadata } from "./metadata.ts";
import { pumpFrames } from "./pump-frames.ts";
import { headersFailure, resetFailure, statusFailure } from "./response-status.ts";
import { GrpcError, toGrpcError } from "./status.ts";

export interface ClientStreamOptions extends Pick<CallOptions, "onHeaders" | "onTrailers"> {
  readonly limit: CallLimit;
  readonly maxReceiveBytes: number;
  readonly maxSendBytes: number;
  /** What the request's grpc-accept-encoding said. */
  readonly encodings: string;
}

export interface CallEnd {
  /** Undefined for status OK. */
  readonly failure: GrpcError | undefined;
  /** We ended it: messages that still wait are of no use. */
  readonly isLocal: boolean;
}

const REFUSED_STREAM = 7;
const CANCEL = 8;
const NO_ERROR = 0;

/** One call on the client: request frames, answer headers, status, and the end by either side. Messages are bytes here. */
export class ClientStream implements RawClientCall {
  readonly stream: ClientHttp2Stream;
  readonly #session: ClientSession;
  readonly #options: ClientStreamOptions;
  readonly #writer: FrameWriter;
  readonly #onEnd: ((end: CallEnd) => void)[] = [];
  #encoding: Encoding | undefined = "identity";
  #answered = false;
  #halfClosed = false;
  #status: { readonly failure: GrpcError | undefined } | undefined;
  #end: CallEnd | undefined;

  constructor(session: ClientSession, headers: OutgoingHttpHeaders, options: ClientStreamOptions) {
    this.#session = session;
    this.#options = options;
    this.stream = session.http2.request(headers, { endStream: false });
    this.#writer = new FrameWriter(this.stream, options.maxSendBytes);
    session.openCalls++;
    this.stream.on("error", () => undefined); // its story is told by "close"
    this.stream.once("response", (received: IncomingHttpHeaders, _flags: number, raw: readonly string[]) =>
      this.#receiveHeaders(received, raw),
    );
    this.stream.once("trailers", (received, _flags, raw?: readonly string[]) =>
      this.#receiveStatus(received, raw ?? []),
    );
    this.stream.once("aborted", () => this.#writer.close(this.#failureOfClose()));
    this.stream.once("close", () => {
      session.openCalls--;
      if (this.#end !== undefined) return;
      this.#conclude({ failure: this.#failureOfClose(), isLocal: false });
    });
    options.limit.onReached((failure) => this.fail(failure));
  }

  /** The server has not even looked at it: the same call may be made again. */
  get wasRefused(): boolean {
    return this.#end?.isLocal === false && !this.#answered && this.stream.rstCode === REFUSED_STREAM;
  }

  get encoding(): Encoding | undefined {
    return this.#encoding;
  }

  send(payload: Uint8Array): Promise<void> | undefined {
    return this.#writer.write(payload);
  }

  writeFrameStart(length: number, compressed = false): void {
    this.#writer.writeStart(length, compressed);
  }

  writeFrameBytes(bytes: Uint8Array): Promise<void> | undefined {
    return this.#writer.writeBytes(bytes);
  }

  end(): void {
    this.#halfClosed = true;
    if (!this.stream.writableEnded) this.stream.end();
  }

  cancel(reason = "the call was cancelled by the caller"): void {
    this.fail(new GrpcError("CANCELLED", reason));
  }

  /** Ends the call from our side: the peer gets a reset. */
  fail(failure: GrpcError): void {
    if (this.#end !== undefined) return;
    this.#conclude({ failure, isLocal: true });
  }

  readFrames(sink: FrameSink): Promise<void> {
    const done = new Promise<void>((resolve, reject) => {
      this.whenEnded(({ failure }) => (failure === undefined ? resolve() : reject(failure)));
      const scanner = new FrameScanner(sink, this.#options.maxReceiveBytes);
      pumpFrames(this.stream, scanner, (failure, isCut) => {
        if (failure === undefined) this.finishReading();
        else if (isCut === true) this.#endInMessage(toGrpcError(failure));
        else this.fail(toGrpcError(failure));
      });
    });
    done.catch(() => undefined); // a caller that does not await it must not bring the process down
    return done;
  }

  /** Half a message is an error, but the status, the reset or the loss of the connection that it came with says more. */
  #endInMessage(failure: GrpcError): void {
    if (this.#status?.failure !== undefined) {
      this.finishReading();
      return;
    }
    // What follows the end of the data is heard of in this turn or the next; "close" then tells why.
    setImmediate(() => {
      if (!this.stream.closed && !this.stream.destroyed) this.fail(failure);
    });
  }

  /** The peer's side was read to its end: its status is final. */
  finishReading(): void {
    this.#conclude({ failure: this.#failureOfEnd(), isLocal: false });
  }

  whenEnded(listener: (end: CallEnd) => void): void {
    if (this.#end === undefined) this.#onEnd.push(listener);
    else listener(this.#end);
  }

  #receiveHeaders(headers: IncomingHttpHeaders, raw: readonly string[]): void {
    this.#answered = true;
    if (headers["grpc-status"] !== undefined) {
      this.#receiveStatus(headers, raw);
      return;
    }
    const failure = headersFailure(headers, this.#options.encodings);
    if (failure !== undefined) {
      this.fail(failure); // what follows is the page of some proxy
      return;
    }
    this.#encoding = parseEncoding(headers["grpc-encoding"]?.toString());
    this.#tell(this.#options.onHeaders, Metadata.fromRawHeaders(raw));
  }

  #receiveStatus(headers: IncomingHttpHeaders, raw: readonly string[]): void {
    const trailers = Metadata.fromRawHeaders(raw);
    this.#status = { failure: statusFailure(headers, trailers) };
    this.#writer.close(this.#status.failure);
    this.#tell(this.#options.onTrailers, trailers);
  }

  /** What the caller's own function throws fails the call, not the process. */
  #tell(listener: ((metadata: Metadata) => void) | undefined, metadata: Metadata): void {
    try {
      listener?.(metadata);
    } catch (failure) {
      this.fail(toGrpcError(failure));
    }
  }

  #failureOfEnd(): GrpcError | undefined {
    if (this.#status !== undefined) return this.#status.failure;
    if (this.#session.lost !== undefined) return this.#session.lost;
    // Both sides closed although we did not: that was a reset, which node reports like an end when its code is NO_ERROR.
    if (this.stream.closed && !this.#halfClosed) return resetFailure(this.stream.rstCode ?? NO_ERROR);
    return new GrpcError("INTERNAL", "server closed the stream without sending trailers");
  }

  #failureOfClose(): GrpcError {
    const failure = this.#status?.failure ?? this.#session.lost;
    if (failure !== undefined) return failure;
    const code = this.stream.rstCode ?? NO_ERROR;
    if (code !== NO_ERROR) return resetFailure(code);
    // Status OK, but messages before it were still unread when the connection went away: OK would hide the loss.
    return new GrpcError("UNAVAILABLE", "the connection closed before all messages were read");
  }

  #conclude(end: CallEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#options.limit.stop();
    this.#writer.close(end.failure);
    if (end.isLocal) this.#reset();
    else this.#leave();
    // A stream is only freed when its data was taken; nobody will ask for what is left.
    if (!this.stream.readableEnded) this.stream.resume();
    for (const listener of this.#onEnd.splice(0)) listener(end);
  }

  #reset(): void {
    const { stream } = this;
    if (stream.destroyed || stream.closed) return;
    // `close` would half-close before it resets, and the server would take a cancelled upload for a complete one.
    stream.end = () => stream;
    stream.close(CANCEL);
  }

  /** The server has finished first. Half-closing is enough and costs no reset, of which servers allow only so many a second. */
  #leave(): void {
    const { stream } = this;
    if (stream.destroyed || stream.closed || stream.writableEnded) return;
    if (stream.writableLength === 0) stream.end();
    else stream.close(NO_ERROR); // what is still queued will never be read
  }
}
