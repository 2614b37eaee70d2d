import type { FrameSink } from "../grpc/index.ts";
import { ADS_PATHS, type XdsProtocol } from "../xds/methods.ts";
import { openUpstream } from "./open-upstream.ts";
import type { UpstreamOptions } from "./options.ts";

export interface Question {
  readonly kind: XdsProtocol;
  readonly request: Buffer;
  readonly signal: AbortSignal;
  /** Takes what comes until it is satisfied, and says so. */
  readonly sink: (satisfied: () => void) => FrameSink;
}

/**
 * Sends one request on a stream of its own: what the control plane refuses ends this stream and no client's. Resolves to the failure that
 * ended it, if any. Rejects when no stream can be had.
 */
export async function askOnce(options: UpstreamOptions, question: Question): Promise<unknown> {
  const { kind, request, signal } = question;
  const { call, close } = await openUpstream(options, ADS_PATHS[kind], { signal });
  try {
    const reading = call.readFrames(question.sink(() => call.cancel("answered")));
    call.writeFrameStart(request.length);
    void call.writeFrameBytes(request);
    return await reading.catch((thrown: unknown) => thrown);
  } finally {
    await close();
  }
}
