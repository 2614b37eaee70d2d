import { setMaxListeners } from "node:events";
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { acceptsGzip } from "../compression.ts";
import { FrameScanner, type FrameSink, pumpFrames } from "../frame-scanner.ts";
import { FrameWriter } from "../frame-writer.ts";
import { Metadata, type MetadataInit } from "../metadata.ts";
import { GrpcError, statusNumber } from "../status.ts";
import { encodeStatusMessage } from "../status-message.ts";
import type { Peer } from "./peer.ts";
import { releaseClient } from "./release-client.ts";
import type { RawServerCall, ServerWriter } from "./server-types.ts";

/** What a connection's calls have in common. */
export interface Traffic {
  openCalls: number;
  /** Counts headers and messages sent; only that it moves matters. */
  answers: number;
}

export interface IncomingRequest {
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly peer: Peer;
  readonly traffic: Traffic;
}

export interface MessageLimits {
  readonly maxReceiveBytes: number;
  readonly maxSendBytes: number;
}

const INTERNAL_ERROR = 2;

/** One call on the server: answer headers, frames, status, and the end by either side. */
export class ServerStream implements RawServerCall, ServerWriter<unknown> {
  readonly path: string;
  readonly peer: Peer;
  readonly stream: ServerHttp2Stream;
  deadline: number | undefined;
  beforeMessage: ServerWriter<unknown>["beforeMessage"];
  readonly #traffic: Traffic;
  readonly #headers: IncomingHttpHeaders;
  readonly #rawHeaders: readonly string[];
  readonly #writer: FrameWriter;
  readonly #log: Logger;
  readonly #encode: (message: unknown) => Uint8Array;
  readonly #maxReceiveBytes: number;
  readonly #encodings: string;
  #metadata: Metadata | undefined;
  #trailers: Metadata | undefined;
  #controller: AbortController | undefined;
  /** Without failure: our status OK is on its way. */
  #ended: { readonly failure: GrpcError | undefined } | undefined;
  #headersSent = false;
  #offersGzip = false;
  readonly #onEnd: ((failure: GrpcError | undefined) => void)[] = [];

  constructor(
    stream: ServerHttp2Stream,
    request: IncomingRequest,
    options: MessageLimits & {
      readonly encode: (message: unknown) => Uint8Array;
      /** What requests may be compressed with, as announced to clients. */
      readonly encodings: string;
      readonly log: Logger;
    },
  ) {
    this.stream = stream;
    this.path = request.headers[":path"] ?? "";
    this.peer = request.peer;
    this.#traffic = request.traffic;
    this.#headers = request.headers;
    this.#rawHeaders = request.rawHeaders;
    this.#encode = options.encode;
    this.#log = options.log;
    this.#maxReceiveBytes = options.maxReceiveBytes;
    this.#encodings = options.encodings;
    this.#writer = new FrameWriter(stream, options.maxSendBytes);
    stream.on("error", () => undefined); // "close" reports it
    // "aborted" comes first when the client resets, "close" alone when the connection is lost after our last write.
    stream.once("aborted", this.#onGone).once("close", this.#onGone);
  }

  get authority(): string {
    return this.#headers[":authority"] ?? "";
  }

  get metadata(): Metadata {
    this.#metadata ??= Metadata.fromRawHeaders(this.#rawHeaders);
    return this.#metadata;
  }

  get trailers(): Metadata {
    this.#trailers ??= new Metadata();
    return this.#trailers;
  }

  /** Made when first asked for: most unary handlers never look. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      setMaxListeners(0, this.#controller.signal); // a handler may pass it to as many calls and waits as it likes
      if (this.#ended !== undefined) this.#controller.abort(this.#ended.failure);
    }
    return this.#controller.signal;
  }

  sendHeaders(metadata?: MetadataInit): void {
    if (this.#headersSent || this.#ended !== undefined) return;
    const headers = this.#answerHeaders();
    if (this.#offersGzip) headers["grpc-encoding"] = "gzip";
    Metadata.from(metadata).copyTo(headers);
    this.stream.respond(headers, { waitForTrailers: true });
    this.#headersSent = true;
    this.#traffic.answers++;
  }

  async write(message: unknown): Promise<void> {
    await this.send(message);
  }

  /** As `write`, but throws at once; a promise only says that the peer is behind, it need not be awaited. */
  send(message: unknown): Promise<void> | undefined {
    const payload = this.#encode(message);
    this.sendHeaders();
    this.#traffic.answers++;
    return this.#writer.write(payload);
  }

  offerGzip(): boolean {
    this.#offersGzip ||= !this.#headersSent && acceptsGzip(this.#headers["grpc-accept-encoding"]?.toString());
    return this.#offersGzip;
  }

  writeChunks(chunks: readonly Uint8Array[], compressed = false): Promise<void> | undefined {
    if (compressed && !this.#offersGzip) throw new GrpcError("INTERNAL", "grpc: a compressed message needs an offer");
    this.sendHeaders();
    this.#traffic.answers++;
    return this.#writer.writeChunks(chunks, compressed);
  }

  writeFrameStart(length: number, compressed = false): void {
    this.sendHeaders();
    this.#traffic.answers++;
    this.#writer.writeStart(length, compressed);
  }

  writeFrameBytes(bytes: Uint8Array): Promise<void> | undefined {
    return this.#writer.writeBytes(bytes);
  }

  readFrames(sink: FrameSink): Promise<void> {
    const done = new Promise<void>((resolve, reject) => {
      this.whenEnded((failure) => reject(failure ?? new GrpcError("CANCELLED", "the call has already ended")));
      pumpFrames(this.stream, new FrameScanner(sink, this.#maxReceiveBytes, false), (failure) => {
        // As with messages: a reset may follow the half-close in the same packet.
        if (failure === undefined) setImmediate(resolve);
        else reject(failure);
      });
    });
    done.catch(() => undefined); // a handler that does not await it must not bring the process down
    return done;
  }

  whenEnded(listener: (failure: GrpcError | undefined) => void): void {
    if (this.#ended === undefined) this.#onEnd.push(listener);
    else listener(this.#ended.failure);
  }

  /** Ends the call with a status; without effect when it is already over. */
  finish(failure?: GrpcError): void {
    if (this.#ended !== undefined) return;
    const trailers = this.#statusTrailers(failure);
    this.#end(failure);
    if (this.stream.destroyed || this.stream.closed) return;
    if (this.#headersSent) {
      this.stream.once("wantTrailers", () => this.#sendStatus(() => this.stream.sendTrailers(trailers)));
      this.stream.end();
    } else {
      const headers = { ...this.#answerHeaders(), ...trailers };
      this.#sendStatus(() => this.stream.respond(headers, { endStream: true }));
    }
  }

  /** Ends the call with a status while its handler still runs: the handler learns it through its signal. */
  expire(failure: GrpcError): void {
    if (this.#ended !== undefined) return;
    this.finish(failure);
    this.#controller?.abort(failure);
  }

  readonly #onGone = () => {
    if (this.#ended !== undefined) return;
    const reason = new GrpcError("CANCELLED", "the call was cancelled by the client");
    this.#end(reason);
    this.#controller?.abort(reason);
  };

  #answerHeaders(): OutgoingHttpHeaders {
    return { ":status": 200, "content-type": "application/grpc", "grpc-accept-encoding": this.#encodings };
  }

  #sendStatus(send: () => void): void {
    try {
      send();
      releaseClient(this.stream);
    } catch (failure) {
      // node refuses, for example, a second value of a header that may have only one. Without a status only a reset is left.
      this.#log.error("gRPC status could not be sent", { path: this.path, error: errorMessage(failure) });
      this.stream.close(INTERNAL_ERROR);
    }
  }

  #end(failure: GrpcError | undefined): void {
    this.#ended = { failure };
    this.#writer.close(failure);
    for (const listener of this.#onEnd.splice(0)) listener(failure);
  }

  #statusTrailers(failure: GrpcError | undefined): OutgoingHttpHeaders {
    const trailers: OutgoingHttpHeaders = {};
    this.#trailers?.copyTo(trailers);
    failure?.metadata.copyTo(trailers);
    trailers["grpc-status"] = String(failure === undefined ? 0 : statusNumber(failure.code));
    if (failure !== undefined && failure.message !== "")
      trailers["grpc-message"] = encodeStatusMessage(failure.message);
    return trailers;
  }
}
