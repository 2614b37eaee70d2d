import { CodedError } from "../base/coded-error.ts";

/** The proxy could not be started; nothing is left open. */
export class XdsProxyError extends CodedError<"socket-in-the-way" | "tap-failed" | "bad-roots"> {}
