import type { Logger } from "../base/logger.ts";
import type { GrpcError, RawServerCall } from "../grpc/index.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import { anyValue, type ServeOptions, serveLastGood } from "./last-good/serve-last-good.ts";
import type { LastGood } from "./last-good/start-last-good.ts";
import type { XdsProxyOptions } from "./options.ts";
import { isAnswering } from "./probe-upstream.ts";

export interface WithoutUpstream {
  readonly kind: XdsProtocol;
  readonly downstream: RawServerCall;
  receive: ServeOptions["receive"];
  readonly lastGood: LastGood;
  readonly failure: GrpcError;
  readonly log: Logger;
  onServing(): void;
  /** Whether the agent's own parts have nothing newer to go by. */
  feedsHandlers(): boolean;
}

/** Serves a starting client from the last known good configuration, and the agent's own parts from the same. */
export async function serveWithoutUpstream(options: XdsProxyOptions, stream: WithoutUpstream): Promise<void> {
  const { metrics, handlers } = options;
  const { kind, downstream, lastGood, failure, log, receive } = stream;
  let isServing = false;
  try {
    await serveLastGood({
      kind,
      downstream,
      receive,
      lastGood,
      failure,
      onServing(savedAt) {
        isServing = true;
        stream.onServing();
        metrics.lastGoodStreams.add(1);
        const from = new Date(savedAt).toISOString();
        log.warn(`no control plane can be reached; serving last known good from ${from}`);
        if (!stream.feedsHandlers()) return;
        for (const { typeUrl, handle } of handlers) {
          const any = lastGood.current()?.snapshot.get(typeUrl)?.resources.get("")?.any;
          if (any !== undefined) handle(anyValue(any));
        }
      },
      async probe(request, signal) {
        if (await isAnswering(options.upstream, { kind, request, signal })) lastGood.noteReachable();
      },
    });
    log.info("the control plane is back; the client is asked to reconnect");
  } finally {
    if (isServing) metrics.lastGoodStreams.add(-1);
  }
}
