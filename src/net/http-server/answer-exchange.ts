import type { Readable, Transform, Writable } from "node:stream";
import * as zlib from "node:zlib";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import {
  type AnswerHead,
  ClientGoneError,
  errorText,
  type HttpAnswer,
  HttpError,
  type HttpHandler,
  type HttpRequest,
  type RequestCheck,
} from "./http-types.ts";

/** Shorter bodies are not worth it. */
const MIN_ENCODED_BYTES = 1024;
/** Known to Node from 22.15 and 23.8 on; the types here are those of Node 20. */
const zstd = zlib as { createZstdCompress?: () => Transform; zstdCompressSync?: (bytes: Buffer) => Buffer };
const SUPPORTED: readonly ContentEncoding[] = zstd.createZstdCompress === undefined ? ["gzip"] : ["zstd", "gzip"];
/** Media types that are compressed already. */
const COMPRESSED = /^(?:video|audio)\/|^image\/jp|compress|zip|snappy|lzma|xz|zstd|brotli|stuffit/i;
/** Statistics shrink to a tenth already at the fastest level. */
const GZIP = { level: zlib.constants.Z_BEST_SPEED };

/** How requests are answered, whichever version of HTTP they come with. */
export interface AnswerOptions {
  readonly handler: HttpHandler;
  readonly check?: RequestCheck;
  /** The path of a request's target, empty when it is none. By default escapes stay and `.` and `..` are resolved, as in URLs. */
  readonly readPath?: (target: string) => string;
  /** Sent with every answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Compresses bodies for clients that accept it. */
  readonly encodes?: boolean;
  /** The answer to a request whose handler has thrown anything but an HttpError; by default a log line and status 500. */
  readonly onFailure?: (thrown: unknown, request: HttpRequest) => HttpAnswer;
  readonly log: Logger;
}

/** What the versions of HTTP differ in. */
export interface HttpExchange {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawHeaders: readonly string[];
  readonly peerAddress: string | undefined;
  readonly input: Readable;
  /** The head of the answer is decided; it leaves with the first piece of the body. */
  readonly hasBegun: boolean;
  readonly isClosed: boolean;
  begin(status: number, headers: Readonly<Record<string, string | number>>): Writable;
  onClose(listener: () => void): void;
  abort(): void;
}

/** Never rejects. */
export async function answerExchange(exchange: HttpExchange, options: AnswerOptions): Promise<void> {
  try {
    await answerRequest(new ExchangeRequest(exchange, options), options);
  } catch (thrown) {
    // Not even the failure could be answered.
    options.log.error("request failed", { target: exchange.target, error: errorMessage(thrown) });
    exchange.abort();
  }
}

async function answerRequest(request: ExchangeRequest, options: AnswerOptions): Promise<void> {
  try {
    const answer = options.check?.(request) ?? (await options.handler(request, {}));
    if (answer !== undefined) request.send(answer);
  } catch (thrown) {
    if (thrown instanceof ClientGoneError) options.log.debug("client went away", { error: thrown.message });
    else if (thrown instanceof HttpError) request.send(errorText(thrown.status, thrown.message));
    else request.send(options.onFailure?.(thrown, request) ?? reportFailure(thrown, request, options.log));
  }
}

function urlPath(target: string): string {
  return URL.canParse(target, "http://localhost") ? new URL(target, "http://localhost").pathname : "";
}

function reportFailure(thrown: unknown, { path }: HttpRequest, log: Logger): HttpAnswer {
  log.error("request failed", { path, error: errorMessage(thrown) });
  return errorText(500, "Internal Server Error");
}

class ExchangeRequest implements HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly path: string;
  readonly rawHeaders: readonly string[];
  readonly peerAddress: string | undefined;
  readonly #exchange: HttpExchange;
  readonly #options: AnswerOptions;
  #headers: Readonly<Record<string, string | undefined>> | undefined;
  #query: URLSearchParams | undefined;
  #closed: AbortController | undefined;

  constructor(exchange: HttpExchange, options: AnswerOptions) {
    this.#exchange = exchange;
    this.#options = options;
    this.method = exchange.method;
    this.target = exchange.target;
    this.path = (options.readPath ?? urlPath)(exchange.target);
    this.rawHeaders = exchange.rawHeaders;
    this.peerAddress = exchange.peerAddress;
  }

  get headers(): Readonly<Record<string, string | undefined>> {
    this.#headers ??= Object.fromEntries(
      Object.entries(this.#exchange.headers).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.join(", ") : value,
      ]),
    );
    return this.#headers;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.target.slice(`${this.target}?`.indexOf("?")));
    return this.#query;
  }

  get closed(): AbortSignal {
    if (this.#closed === undefined) {
      const controller = new AbortController();
      this.#closed = controller;
      if (this.#exchange.isClosed) controller.abort();
      else this.#exchange.onClose(() => controller.abort());
    }
    return this.#closed.signal;
  }

  async body(maxBytes: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      // What is left of a body that is too large must not take the connection, and with it the answer, along.
      for await (const chunk of this.#exchange.input.iterator({ destroyOnReturn: false })) {
        size += (chunk as Buffer).length;
        if (size > maxBytes) break;
        chunks.push(chunk as Buffer);
      }
    } catch (cause) {
      throw new ClientGoneError("client-gone", errorMessage(cause), { cause });
    }
    if (size > maxBytes) throw new HttpError(413, `the body is larger than ${maxBytes} bytes`);
    return Buffer.concat(chunks, size);
  }

  stream(head: AnswerHead): Writable {
    const isOpen = this.#options.encodes && this.method !== "HEAD" && head.headers?.["Content-Encoding"] === undefined;
    const encoding = isOpen ? chooseEncoding(this.headers["accept-encoding"]) : undefined;
    const output = this.#begin(head, encoding === undefined ? {} : { "Content-Encoding": encoding });
    return encoding === undefined ? output : openEncoder(output, encoding);
  }

  send(answer: HttpAnswer): void {
    if (this.#exchange.isClosed) return;
    // The failure of a handler that has begun its answer: only a broken one shows that it is not whole.
    if (this.#exchange.hasBegun) return void this.#exchange.abort();
    if (answer.body === undefined) return void this.#begin(answer, {}).end();
    const body = Buffer.from(answer.body);
    const encoding = this.#encodingFor(answer, body);
    const sent = encoding === undefined ? body : encodeBody(body, encoding);
    const length = { "Content-Length": sent.length };
    const output = this.#begin(answer, encoding === undefined ? length : { "Content-Encoding": encoding, ...length });
    output.end(this.method === "HEAD" ? undefined : sent);
  }

  abort(): void {
    this.#exchange.abort();
  }

  #encodingFor({ contentType, headers }: AnswerHead, body: Buffer) {
    if (!this.#options.encodes || this.method === "HEAD" || headers?.["Content-Encoding"] !== undefined)
      return undefined;
    return encodingFor(this.headers["accept-encoding"], body, contentType);
  }

  #begin(head: AnswerHead, more: Readonly<Record<string, string | number>>): Writable {
    return this.#exchange.begin(head.status, {
      ...(head.contentType === undefined ? {} : { "Content-Type": head.contentType }),
      ...(this.#options.encodes ? { Vary: "Accept-Encoding" } : {}),
      ...this.#options.headers,
      ...head.headers,
      ...more,
    });
  }
}

type ContentEncoding = "zstd" | "gzip";

/** The best encoding both sides know; zstd on ties. Names that are unknown here, `*` and `identity` among them, do not count. */
export function chooseEncoding(
  header: string | undefined,
  supported: readonly ContentEncoding[] = SUPPORTED,
): ContentEncoding | undefined {
  let best: { readonly name: ContentEncoding; readonly quality: number } | undefined;
  for (const item of (header ?? "").split(",")) {
    const [rawName = "", ...parameters] = item.split(";").map((part) => part.trim());
    const name = supported.find((known) => known === rawName.toLowerCase());
    const quality = qualityOf(parameters);
    if (name === undefined || quality <= 0) continue;
    if (best === undefined || quality > best.quality || (quality === best.quality && name === "zstd"))
      best = { name, quality };
  }
  return best?.name;
}

/** The encoding that pays for a body at hand; undefined: sent as it is. */
function encodingFor(
  accepted: string | undefined,
  body: Buffer,
  contentType: string | undefined,
): ContentEncoding | undefined {
  return body.length < MIN_ENCODED_BYTES || COMPRESSED.test(contentType ?? "") ? undefined : chooseEncoding(accepted);
}

function encodeBody(body: Buffer, encoding: ContentEncoding): Buffer {
  return encoding === "zstd" && zstd.zstdCompressSync ? zstd.zstdCompressSync(body) : zlib.gzipSync(body, GZIP);
}

/** A compressor in front of a body that is written piece by piece; destroyed with it. */
function openEncoder(output: Writable, encoding: ContentEncoding): Writable {
  const encoder = encoding === "zstd" && zstd.createZstdCompress ? zstd.createZstdCompress() : zlib.createGzip(GZIP);
  output.on("close", () => encoder.destroy());
  encoder.on("error", () => output.destroy());
  encoder.pipe(output);
  return encoder;
}

/** 0 rules an encoding out, and so does text that is not a number. */
function qualityOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => /^q\s*=/i.test(parameter));
  if (given === undefined) return 1;
  const text = given.slice(given.indexOf("=") + 1).trim();
  return /^\d*\.?\d+$|^\d+\.$/.test(text) ? Number(text) : 0;
}
