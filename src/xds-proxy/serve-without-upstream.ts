import type { Logger } from "../base/logger.ts";
import type { GrpcError, RawServerCall } from "../grpc/index.ts";
import { type ProtocolKind, STREAM_PATHS } from "./core/protocol-kind.ts";
import { anyValue, type ServeOptions, serveLastGood } from "./last-good/serve-last-good.ts";
import type { LastGood } from "./last-good/start-last-good.ts";
import { openUpstream } from "./open-upstream.ts";
import type { XdsProxyOptions } from "./options.ts";

export interface WithoutUpstream {
  readonly kind: ProtocolKind;
  readonly downstream: RawServerCall;
  receive: ServeOptions["receive"];
  readonly lastGood: LastGood;
  readonly failure: GrpcError;
  readonly log: Logger;
  onServing(): void;
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
        for (const { typeUrl, handle } of handlers) {
          const any = lastGood.current()?.snapshot.get(typeUrl)?.resources.get("")?.any;
          if (any !== undefined) handle(anyValue(any));
        }
      },
      async probe(signal) {
        const upstream = await openUpstream(options.upstream, STREAM_PATHS[kind], { signal });
        await upstream.close();
        lastGood.noteReachable();
      },
    });
    log.info("the control plane is back; the client is asked to reconnect");
  } finally {
    if (isServing) metrics.lastGoodStreams.add(-1);
  }
}
