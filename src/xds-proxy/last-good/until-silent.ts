import { GrpcError } from "../../grpc/index.ts";
import type { XdsProtocol } from "../../xds/methods.ts";
import { canServe } from "./serve-last-good.ts";
import type { LastGood } from "./start-last-good.ts";

export interface Waiting {
  readonly kind: XdsProtocol;
  /** The client's first request. */
  readonly first: Promise<Buffer>;
  isAnswered(): boolean;
}

/** The control plane neither answers nor refuses: the kernel accepts connections for a process that hangs. */
export class SilentUpstream extends GrpcError {
  constructor() {
    super("UNAVAILABLE", "the control plane does not answer");
  }
}

/**
 * What `work` brings; SilentUpstream when a client that could be served from here has waited long enough for an answer. Any other client
 * has what it needs, or would get nothing: it goes on waiting.
 */
export async function unlessSilent<Result>(
  work: Promise<Result>,
  lastGood: LastGood | undefined,
  waiting: Waiting,
): Promise<Result> {
  if (lastGood === undefined) return work;
  const settled = new AbortController();
  try {
    return await Promise.race([work, untilSilent(lastGood, waiting, settled.signal)]);
  } finally {
    settled.abort();
  }
}

async function untilSilent(lastGood: LastGood, waiting: Waiting, signal: AbortSignal): Promise<never> {
  const first = await waiting.first;
  if (!signal.aborted && canServe(lastGood, waiting.kind, first)) {
    await lastGood.outOfPatience(signal);
    if (!signal.aborted && !waiting.isAnswered()) throw new SilentUpstream();
  }
  return new Promise<never>(() => undefined);
}
