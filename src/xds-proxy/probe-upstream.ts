import { abortAfter } from "../base/abort-after.ts";
import { GrpcError, NoGrpcAnswer } from "../grpc/index.ts";
import type { GrpcStatusName } from "../protocol/grpc-status-names.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import { askOnce } from "./ask-once.ts";
import type { UpstreamOptions } from "./options.ts";

export interface Probe {
  readonly kind: XdsProtocol;
  /** What a control plane would answer. */
  readonly request: Buffer;
  readonly signal: AbortSignal;
}

/** Longer than a control plane takes for its first response to a client. */
const ANSWER_LIMIT_MS = 10_000;

/**
 * What a control plane says of a client it does not want. Every other status may come from something in front of it (503 and 404 of a load
 * balancer, a page with 200, UNAVAILABLE of an ingress without backends) or from one that is not ready yet.
 */
const REFUSALS: ReadonlySet<GrpcStatusName> = new Set(["UNAUTHENTICATED", "PERMISSION_DENIED", "INVALID_ARGUMENT"]);

/** Whether a stream that ended like this, without a response, was ended by a control plane. */
export function isRefusal(failure: unknown): boolean {
  return failure instanceof GrpcError && !(failure instanceof NoGrpcAnswer) && REFUSALS.has(failure.code);
}

/** Whether a control plane answers the request on a stream of its own, be it with a refusal. Rejects when no stream can be had. */
export async function isAnswering(options: UpstreamOptions, { kind, request, signal }: Probe): Promise<boolean> {
  using limit = abortAfter(ANSWER_LIMIT_MS, signal);
  let hasResponse = false;
  const failure = await askOnce(options, {
    kind,
    request,
    signal: limit.signal,
    sink: (satisfied) => ({
      start: () => undefined,
      bytes: () => undefined,
      end() {
        hasResponse = true;
        satisfied();
      },
    }),
  });
  return hasResponse || isRefusal(failure);
}
