import type { Readable, Writable } from "node:stream";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { chooseEncoding, encodeBody, encodingFor, openEncoder } from "./content-encoding.ts";
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

export function urlPath(target: string): string {
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
    const encoding =
      this.#options.encodes && this.method !== "HEAD" ? chooseEncoding(this.headers["accept-encoding"]) : undefined;
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
