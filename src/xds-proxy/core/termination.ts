import { GrpcError } from "../../grpc/index.ts";

/** How one side of a pair ended, which decides what is logged and counted. */
export type Termination = "graceful" | "expected" | "unexpected";

/** Texts of an orderly end that arrive under codes which also mean trouble: those of our own gRPC layer and of others upstream. */
const EXPECTED_UNAVAILABLE =
  /client disconnected|error reading from server: EOF|transport is closing|connection (was )?(dropped|closed)/i;
const EXPECTED_ANY =
  /RST_STREAM with (error )?code:? (NO_ERROR|0)\b|received prior goaway: code: NO_ERROR|GOAWAY with code (NO_ERROR|0)\b/;

/** `failure` is undefined for a clean end of the stream. */
export function classifyTermination(failure: unknown): Termination {
  if (failure === undefined) return "graceful";
  if (!(failure instanceof GrpcError)) return "unexpected";
  if (failure.code === "CANCELLED" || failure.code === "DEADLINE_EXCEEDED") return "expected";
  if (EXPECTED_ANY.test(failure.message)) return "expected";
  return failure.code === "UNAVAILABLE" && EXPECTED_UNAVAILABLE.test(failure.message) ? "expected" : "unexpected";
}

/** The label of the termination counters. */
export function terminationLabel(termination: Termination): "cancelled" | "error" {
  return termination === "unexpected" ? "error" : "cancelled";
}
