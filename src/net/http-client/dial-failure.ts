import { joinHostPort } from "../host-port.ts";

/** Why a connection was not made, as data: what Node says in the members of its system errors. */
export interface DialFailure {
  /** ECONNREFUSED, ENOTFOUND ... */
  readonly code: string;
  /** The address that was dialled; absent when a name was not resolved. */
  readonly address?: string;
  readonly port?: number;
  /** The name that was not resolved. */
  readonly hostname?: string;
}

/** Undefined for a failure of another kind. Of several addresses that were tried, the first one counts. */
export function dialFailureOf(cause: unknown): DialFailure | undefined {
  const inner: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  if (!(inner instanceof Error) || !("syscall" in inner) || !("code" in inner)) return undefined;
  const { code, address, port, hostname } = inner as NodeJS.ErrnoException & DialFailure;
  if (typeof code !== "string" || (address === undefined && hostname === undefined)) return undefined;
  return {
    code,
    ...(address !== undefined && { address }),
    ...(port !== undefined && { port }),
    ...(hostname !== undefined && { hostname }),
  };
}

/** The system's words for what it says to a connection. */
const DIAL_PROBLEMS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset by peer",
  ENETUNREACH: "network is unreachable",
  EHOSTUNREACH: "no route to host",
  EADDRNOTAVAIL: "cannot assign requested address",
  ETIMEDOUT: "connection timed out",
};

/** In the words of Go programs, which operators search logs for; `target` (host:port) instead of the address that was dialled. */
export function dialFailureText(failure: DialFailure | undefined, target?: string): string | undefined {
  if (failure === undefined) return undefined;
  const { code, address, port, hostname } = failure;
  if (code === "ENOTFOUND" && hostname !== undefined) return `dial tcp: lookup ${hostname}: no such host`;
  const problem = DIAL_PROBLEMS[code];
  if (problem === undefined || address === undefined || port === undefined) return undefined;
  return `dial tcp ${target ?? joinHostPort(address, port)}: connect: ${problem}`;
}
