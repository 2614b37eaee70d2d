import { CodedError } from "../../base/coded-error.ts";
import { type DialFailure, dialFailureOf } from "./dial-failure.ts";

export type HttpErrorCode =
  | "invalid-url"
  /** No connection, or it broke off; `dial` has the details of a connection that was not made. */
  | "unreachable"
  /** The server switched to another protocol. */
  | "upgraded"
  | "timeout"
  | "cancelled"
  | "too-large"
  /** A redirect that cannot be followed, or one too many. */
  | "redirect";

export interface HttpErrorDetails {
  readonly method: string;
  readonly url: URL;
  readonly reason: string;
  /** What was waited for. */
  readonly phase: "head" | "body";
  /** The connection had served another request before, so that the server may have closed it meanwhile. */
  readonly isReused?: boolean;
  readonly cause?: unknown;
}

/** The exchange itself failed. A response with an error status is a response. Messages name the address, never headers or bodies. */
export class HttpError extends CodedError<HttpErrorCode> {
  /** The message without the request. */
  readonly reason: string;
  readonly method: string;
  /** Of the request that failed, after redirects perhaps. */
  readonly url: URL | undefined;
  readonly phase: "head" | "body";
  readonly isReused: boolean;

  constructor(code: HttpErrorCode, details: HttpErrorDetails | string) {
    const given = typeof details === "string" ? undefined : details;
    const text = given ? `${given.method} ${shownUrl(given.url)}: ${given.reason}` : String(details);
    super(code, text, given && "cause" in given ? { cause: given.cause } : undefined);
    this.reason = given?.reason ?? text;
    this.method = given?.method ?? "GET";
    this.url = given?.url;
    this.phase = given?.phase ?? "head";
    this.isReused = given?.isReused ?? false;
  }

  get dial(): DialFailure | undefined {
    return dialFailureOf(this.cause);
  }
}

/** A redirect may name an address of many kilobytes. */
const MAX_SHOWN = 500;

/** Without what may be secret: user, query, fragment. */
export function shownUrl({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`.slice(0, MAX_SHOWN);
}
