import { CodedError } from "../../base/coded-error.ts";

/** The server could not take its address; nothing is left open. */
export class ListenError extends CodedError<"address-in-use" | "path-too-long" | "not-a-socket" | "listen-failed"> {}
