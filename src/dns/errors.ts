import { CodedError, errorCode, errorMessage } from "../base/coded-error.ts";

export class DnsError extends CodedError<
  "invalid-address" | "address-in-use" | "listen-failed" | "resolv-conf" | "upstream-failed"
> {}

/** Words of the C library for the errors an operator meets here, as other agents print them. */
const SYSTEM_WORDS: Readonly<Record<string, string>> = {
  EADDRINUSE: "address already in use",
  EADDRNOTAVAIL: "cannot assign requested address",
  EACCES: "permission denied",
  ENOENT: "no such file or directory",
  EISDIR: "is a directory",
  ECONNREFUSED: "connection refused",
  ENETUNREACH: "network is unreachable",
  EHOSTUNREACH: "no route to host",
};

export function systemWords(thrown: unknown): string {
  return SYSTEM_WORDS[errorCode(thrown) ?? ""] ?? errorMessage(thrown);
}

export function listenError(protocol: "udp" | "tcp", address: string, cause: unknown): DnsError {
  const code = errorCode(cause) === "EADDRINUSE" ? "address-in-use" : "listen-failed";
  return new DnsError(code, `listen ${protocol} ${address}: bind: ${systemWords(cause)}`, { cause });
}
