import { CodedError } from "../base/coded-error.ts";

/** Why a token was not issued. The code is RFC 6749's and RFC 8693's `error`; messages never quote a token. */
export class StsError extends CodedError<"invalid_request" | "invalid_target"> {}
