import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { wait } from "../base/wait.ts";
import { GrpcError, rpcErrorText } from "../grpc/index.ts";
import type { XdsProxyMetrics } from "./metrics.ts";

/** Which side of a pair ended, and how; without a failure it ended cleanly. */
export interface StreamEnd {
  readonly side: "upstream" | "downstream";
  readonly failure: unknown;
}

/** What the other side of the pair is said to have come to. */
const ENDED_WITH_IT = "rpc error: code = Canceled desc = context canceled";
/** A write fails before the reader has come to the status that explains it. */
const STATUS_WAIT_MS = 1000;

export function endOf(side: StreamEnd["side"], work: Promise<unknown>): Promise<StreamEnd> {
  return work.then(
    () => ({ side, failure: undefined }),
    (failure: unknown) => ({ side, failure }),
  );
}

/** The upstream's own status if it comes, else the failure of the write. */
export async function endOfSending(failed: Promise<never>, reading: Promise<StreamEnd>): Promise<StreamEnd> {
  const failure = await failed.catch((thrown: unknown) => thrown);
  const gone = new AbortController();
  const late = wait(STATUS_WAIT_MS, gone.signal).then((): StreamEnd => ({ side: "upstream", failure }));
  return Promise.race([reading, late]).finally(() => gone.abort());
}

/** The side that ended first counts by its own class, the other one always as cancelled: it is ended with it. */
export function reportEnd({ side, failure }: StreamEnd, metrics: XdsProxyMetrics, log: Logger): void {
  const termination = classifyTermination(failure);
  const text = failure === undefined ? "<nil>" : rpcErrorText(failure);
  if (termination === "unexpected") log.warn(`${side} terminated with unexpected error ${text}`);
  else log.debug(`${side} terminated with status ${text}`);
  if (side === "downstream" && failure instanceof GrpcError && failure.code === "RESOURCE_EXHAUSTED") {
    log.warn(
      "the client's request is too large; ISTIO_GPRC_MAXRECVMSGSIZE of this proxy, not of the control plane, raises the limit",
    );
  }
  log.debug(`${side === "upstream" ? "downstream" : "upstream"} terminated with status ${ENDED_WITH_IT}`);
  const label = terminationLabel(termination);
  metrics.upstreamTerminations.inc([side === "upstream" ? label : "cancelled"]);
  metrics.downstreamTerminations.inc([side === "downstream" ? label : "cancelled"]);
}

export function toStatus(failure: unknown): GrpcError {
  if (failure instanceof GrpcError) return failure;
  return new GrpcError("UNKNOWN", errorMessage(failure), { cause: failure });
}

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
