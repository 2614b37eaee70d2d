/** One request as pages see it. */
export interface HttpCall {
  readonly method: string;
  /** Cleaned, without query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Address of the other end of the connection. */
  readonly peerAddress: string;
  /** Reads the body once; rejects with an HttpProblem when it is too large. */
  body(): Promise<string>;
}

export interface HttpAnswer {
  readonly status: number;
  readonly contentType?: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type HttpHandler = (call: HttpCall) => HttpAnswer | Promise<HttpAnswer>;

/** A request that is answered with its status and text. */
export class HttpProblem extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function text(status: number, body: string): HttpAnswer {
  return { status, contentType: "text/plain; charset=utf-8", body: body.endsWith("\n") ? body : `${body}\n` };
}

export function json(value: unknown, status = 200): HttpAnswer {
  return { status, contentType: "application/json", body: `${JSON.stringify(value, undefined, 2)}\n` };
}
