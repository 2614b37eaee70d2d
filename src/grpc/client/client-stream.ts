import type { ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import { type Encoding, parseEncoding } from "../compression.ts";
import { FrameScanner, type FrameSink, pumpFrames } from "../frame-scanner.ts";
import { FrameWriter } from "../frame-writer.ts";
import { Metadata } from "../metadata.ts";
import { GrpcError, toGrpcError } from "../status.ts";
import type { CallLimit } from "./call-limit.ts";
import type { ClientSession } from "./client-session.ts";
import type { CallOptions, RawClientCall } from "./client-types.ts";
import { headersFailure, resetFailure, statusFailure } from "./response-status.ts";
import { type FrameWrite, SentFrames } from "./sent-frames.ts";

/** Where a call is made, and as what. */
export interface Attempt {
  readonly session: ClientSession;
  readonly headers: OutgoingHttpHeaders;
}

export interface ClientStreamOptions extends Pick<CallOptions, "onHeaders" | "onTrailers"> {
  readonly limit: CallLimit;
  readonly maxReceiveBytes: number;
  readonly maxSendBytes: number;
  /** What the request's grpc-accept-encoding said. */
  readonly encodings: string;
  /** For a second attempt, when the server refused the first one unseen. */
  readonly again: () => Promise<Attempt>;
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
/** A call that has sent more than this before it was answered is not made again. */
const MAX_REPEATED_BYTES = 8 * 1024 * 1024;

/**
 * One call on the client: request frames, answer headers, status, and the end by either side. Messages are bytes here. A call that the
 * server refuses unseen is made again once, as every gRPC client does: its owner does not hear of it.
 */
export class ClientStream implements RawClientCall {
  readonly #options: ClientStreamOptions;
  #session: ClientSession;
  #stream: ClientHttp2Stream;
  #writer: FrameWriter;
  /** Undefined when the call will not be made again. */
  #sent: SentFrames | undefined = new SentFrames();
  #isReopening = false;
  #read: ((stream: ClientHttp2Stream) => void) | undefined;
  readonly #onEnd: ((end: CallEnd) => void)[] = [];
  #encoding: Encoding | undefined = "identity";
  #halfClosed = false;
  #status: { readonly failure: GrpcError | undefined } | undefined;
  #end: CallEnd | undefined;

  constructor(first: Attempt, options: ClientStreamOptions) {
    this.#options = options;
    this.#session = first.session;
    this.#stream = this.#start(first);
    this.#writer = new FrameWriter(this.#stream, options.maxSendBytes);
    options.limit.onReached((failure) => this.fail(failure));
  }

  get encoding(): Encoding | undefined {
    return this.#encoding;
  }

  send(payload: Uint8Array): Promise<void> | undefined {
    return this.#write((writer) => writer.write(payload), payload.length);
  }

  writeFrameStart(length: number, compressed = false): void {
    void this.#write((writer) => writer.writeStart(length, compressed), 0);
  }

  writeFrameBytes(bytes: Uint8Array): Promise<void> | undefined {
    return this.#write((writer) => writer.writeBytes(bytes), bytes.length);
  }

  end(): void {
    this.#halfClosed = true;
    if (!this.#isReopening && !this.#stream.writableEnded) this.#stream.end();
  }

  sent(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#stream.writableFinished) return resolve();
      this.#stream.once("finish", resolve);
      this.whenEnded(() => resolve());
    });
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
      this.readFrom((stream) =>
        pumpFrames(stream, new FrameScanner(sink, this.#options.maxReceiveBytes), (failure, isCut) => {
          if (failure === undefined) this.finishReading();
          else if (isCut === true) this.#endInMessage(toGrpcError(failure));
          else this.fail(toGrpcError(failure));
        }),
      );
    });
    done.catch(() => undefined); // a caller that does not await it must not bring the process down
    return done;
  }

  /** The answer comes from this stream, or from another one when the call is made again; nothing was read from the first one then. */
  readFrom(read: (stream: ClientHttp2Stream) => void): void {
    this.#read = read;
    if (!this.#isReopening) read(this.#stream);
  }

  /** Half a message is an error, but the status, the reset or the loss of the connection that it came with says more; OK does not. */
  #endInMessage(failure: GrpcError): void {
    if (this.#status !== undefined) {
      if (this.#status.failure === undefined) this.fail(failure);
      else this.finishReading();
      return;
    }
    // What follows the end of the data is heard of in this turn or the next; "close" then says why.
    setImmediate(() => {
      if (!this.#stream.closed && !this.#stream.destroyed) this.fail(failure);
    });
  }

  /** The peer's side was read to its end: its status is final. */
  finishReading(): void {
    if (this.#canRepeat()) return; // "close" follows
    this.#conclude({ failure: this.#failureOfEnd(), isLocal: false });
  }

  whenEnded(listener: (end: CallEnd) => void): void {
    if (this.#end === undefined) this.#onEnd.push(listener);
    else listener(this.#end);
  }

  #start({ session, headers }: Attempt): ClientHttp2Stream {
    const stream = session.http2.request(headers, { endStream: false });
    session.openCalls++;
    stream.on("error", () => undefined); // "close" reports it
    stream.once("response", (received: IncomingHttpHeaders, _flags: number, raw: readonly string[]) =>
      this.#receiveHeaders(received, raw),
    );
    stream.once("trailers", (received, _flags, raw?: readonly string[]) => this.#receiveStatus(received, raw ?? []));
    stream.once("aborted", () => {
      if (!this.#canRepeat()) this.#writer.close(this.#failureOfClose());
    });
    stream.once("close", () => {
      session.openCalls--;
      if (this.#end !== undefined) return;
      if (this.#canRepeat()) void this.#repeat();
      else this.#conclude({ failure: this.#failureOfClose(), isLocal: false });
    });
    return stream;
  }

  #write(write: FrameWrite, bytes: number): Promise<void> | undefined {
    const wait = this.#isReopening ? undefined : this.#writeNow(write);
    this.#sent?.add(write, bytes);
    if (!this.#isReopening && (this.#sent?.bytes ?? 0) > MAX_REPEATED_BYTES) this.#sent = undefined;
    return wait ?? undefined;
  }

  #writeNow(write: FrameWrite): Promise<void> | undefined | void {
    try {
      return write(this.#writer);
    } catch (failure) {
      if (!this.#canRepeat()) throw failure;
    }
  }

  /** The server has not even looked at the call: it said so, or has named an earlier one as the last it will look at. */
  #canRepeat(): boolean {
    if (this.#sent === undefined || this.#isReopening || this.#end !== undefined) return false;
    const { rstCode, id } = this.#stream;
    return rstCode === REFUSED_STREAM || (id !== undefined && id > this.#session.lastAccepted);
  }

  async #repeat(): Promise<void> {
    this.#isReopening = true;
    this.#writer.release();
    const { again, limit, maxSendBytes } = this.#options;
    try {
      const next = await again();
      if (this.#end !== undefined) return;
      limit.onReached((failure) => this.fail(failure));
      this.#session = next.session;
      this.#stream = this.#start(next);
      this.#writer = new FrameWriter(this.#stream, maxSendBytes);
      this.#isReopening = false;
      const sent = this.#sent;
      this.#sent = undefined;
      sent?.repeat(this.#writer);
      if (this.#halfClosed) this.#stream.end();
      this.#read?.(this.#stream);
    } catch (failure) {
      this.fail(toGrpcError(failure));
    }
  }

  #receiveHeaders(headers: IncomingHttpHeaders, raw: readonly string[]): void {
    this.#sent = undefined;
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
    this.#notify(this.#options.onHeaders, Metadata.fromRawHeaders(raw));
  }

  #receiveStatus(headers: IncomingHttpHeaders, raw: readonly string[]): void {
    const trailers = Metadata.fromRawHeaders(raw);
    this.#status = { failure: statusFailure(headers, trailers) };
    this.#writer.close(this.#status.failure);
    this.#notify(this.#options.onTrailers, trailers);
  }

  /** What the caller's own function throws fails the call, not the process. */
  #notify(listener: ((metadata: Metadata) => void) | undefined, metadata: Metadata): void {
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
    if (this.#stream.closed && !this.#halfClosed) return resetFailure(this.#stream.rstCode ?? NO_ERROR);
    return new GrpcError("INTERNAL", "server closed the stream without sending trailers");
  }

  #failureOfClose(): GrpcError {
    const failure = this.#status?.failure ?? this.#session.lost;
    if (failure !== undefined) return failure;
    const code = this.#stream.rstCode ?? NO_ERROR;
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
    // A stream is only freed when its data was taken; nothing will read what is left.
    if (!this.#stream.readableEnded) this.#stream.resume();
    for (const listener of this.#onEnd.splice(0)) listener(end);
  }

  #reset(): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    // `close` would half-close before it resets, and the server would take a cancelled upload for a complete one.
    stream.end = () => stream;
    stream.close(CANCEL);
  }

  /** The server has finished first. Half-closing is enough and costs no reset, of which servers allow only so many a second. */
  #leave(): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed || stream.writableEnded) return;
    if (stream.writableLength === 0) stream.end();
    else stream.close(NO_ERROR); // what is still queued will never be read
  }
}
