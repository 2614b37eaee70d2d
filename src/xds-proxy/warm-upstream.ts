import type { GrpcChannel } from "../grpc/index.ts";
import { createUpstreamChannel } from "./open-upstream.ts";
import type { UpstreamOptions } from "./options.ts";

/** A connection to the control plane made before its client is there, for the first one that comes. */
export interface WarmUpstream {
  /** Begins to connect. A failure is ignored here: the client's own attempt reports it. */
  prepare(): void;
  /** At most once; undefined when there is none. */
  take(): GrpcChannel | undefined;
  stop(): Promise<void>;
}

/** Envoy takes a tenth of a second to start. A client that has not connected after this long does not connect. */
const UNUSED_MS = 30_000;

export function createWarmUpstream(options: UpstreamOptions): WarmUpstream {
  let warm: { readonly channel: GrpcChannel; readonly timer: NodeJS.Timeout } | undefined;
  const take = () => {
    const taken = warm;
    warm = undefined;
    clearTimeout(taken?.timer);
    return taken?.channel;
  };
  const stop = async () => take()?.stop();
  return {
    take,
    stop,
    prepare() {
      if (warm !== undefined) return;
      const channel = createUpstreamChannel(options);
      const timer = setTimeout(() => void stop(), UNUSED_MS);
      timer.unref();
      warm = { channel, timer };
      channel.connect().catch(() => {
        if (warm?.channel === channel) void stop();
      });
    },
  };
}
