import type { Writable } from "node:stream";
import { CodedError } from "../../base/coded-error.ts";

/** One request, of either version of HTTP. */
export interface HttpRequest {
  readonly method: string;
  /** As sent, with escapes and query. */
  readonly target: string;
  /** What the server's `readPath` makes of the target; empty when the target is not a path. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case; headers sent several times are one value. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Names and values in turn, as sent. */
  readonly rawHeaders: readonly string[];
  /** Address of the other end of the connection, never from a header; undefined on unix sockets. */
  readonly peerAddress: string | undefined;
  /** Aborted when the answer is sent, and when the client has gone. */
  readonly closed: AbortSignal;
  /** Reads the body, once. Rejects with an HttpError 413 above the limit, and with a ClientGoneError when it breaks off. */
  body(maxBytes: number): Promise<Buffer>;
  /** Begins an answer whose body is written piece by piece. The handler ends it and returns undefined. */
  stream(head: AnswerHead): Writable;
  /** Closes the connection, without an answer or in the middle of one. */
  abort(): void;
}

export interface AnswerHead {
  readonly status: number;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HttpAnswer extends AnswerHead {
  /** Absent: the answer says nothing about a length either. */
  readonly body?: string | Buffer;
}

export interface TextAnswer extends HttpAnswer {
  readonly body: string;
}

/** Values of the `{name}` segments of a route's path, escapes resolved. */
export type PathParameters = Readonly<Record<string, string>>;

type Reply = HttpAnswer | undefined;

/** Undefined: the handler has answered by `stream` or `abort`. */
export type HttpHandler = (request: HttpRequest, parameters: PathParameters) => Reply | Promise<Reply>;

/** Decides about a request before it is routed: undefined lets it pass. */
export type RequestCheck = (request: HttpRequest) => HttpAnswer | undefined;

/** A request that is answered with this status and text. */
export class HttpError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The connection ended before the request did: no answer can reach it. */
export class ClientGoneError extends CodedError<"client-gone"> {}

const TEXT = "text/plain; charset=utf-8";

/** Plain text that ends in a newline. */
export function text(status: number, body: string): TextAnswer {
  return { status, contentType: TEXT, body: body.endsWith("\n") ? body : `${body}\n` };
}

/** The form of errors: text that browsers must not take for a page. */
export function errorText(status: number, body: string, headers: Readonly<Record<string, string>> = {}): TextAnswer {
  return { ...text(status, body), headers: { "X-Content-Type-Options": "nosniff", ...headers } };
}

export function json(value: unknown, status = 200): TextAnswer {
  return { status, contentType: "application/json", body: `${JSON.stringify(value, undefined, 2)}\n` };
}
