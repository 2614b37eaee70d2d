import { CloseStack } from "../base/close-stack.ts";
import { toHandle } from "../base/handle.ts";
import { type GrpcChannel, implementRaw, type RawServerCall } from "../grpc/index.ts";
import { ADS_PATHS, type XdsProtocol } from "../xds/methods.ts";
import { HEALTH_TYPE } from "../xds/type-urls.ts";
import { createBufferCollector } from "./buffer-collector.ts";
import { encodeAgentRequest } from "./core/agent-request.ts";
import { createUpstreamChannel } from "./open-upstream.ts";
import type { UpstreamOptions, WorkloadHealth, XdsProxy, XdsProxyOptions } from "./options.ts";
import { REFLECTED_SERVICES, readAdsFiles, reflectionMethods } from "./reflection/reflection-methods.ts";
import { serveSocket } from "./serve-socket.ts";
import { StreamRegistry } from "./stream-registry.ts";
import { XdsStream, type XdsStreamHooks } from "./xds-stream.ts";

/** Envoy takes a tenth of a second to start. A client that has not connected after this long does not connect. */
const UNUSED_MS = 30_000;

const INTERNAL = 13;

/** Serves xDS on the socket. The control plane is contacted when a client comes, once for each of its streams. */
export async function startXdsProxy(options: XdsProxyOptions): Promise<XdsProxy> {
  const { log, socketPath, metrics } = options;
  log.info(`Initializing with upstream address "${options.upstream.address}" and cluster "${options.clusterId}"`);

  const registry = new StreamRegistry<XdsStream>();
  const warm = createWarmUpstream(options.upstream);
  const buffers = createBufferCollector();
  let health: WorkloadHealth | undefined;
  let nextId = 0;
  let largest = 0;
  const hooks: XdsStreamHooks = {
    buffers,
    onIntroduced: () => registry.reconsider(),
    hasPrimary: () => registry.primary !== undefined,
    streams: () => registry.size,
    takeWarmUpstream: () => warm.take(),
    storedRequests: (kind) => (health === undefined ? [] : [healthRequest(kind, health)]),
    onRequestBytes(bytes) {
      if (bytes <= largest) return;
      largest = bytes;
      metrics.largestRequest.set(bytes);
    },
  };
  const shareMemory = () => {
    buffers.setStreams(registry.size);
    for (const stream of registry.all) stream.shareMemory(registry.size);
  };
  const serve = (kind: XdsProtocol) => async (call: RawServerCall) => {
    nextId += 1;
    const stream = new XdsStream(nextId, kind, options, hooks);
    registry.add(stream);
    shareMemory();
    try {
      await stream.run(call);
    } finally {
      registry.remove(stream);
      shareMemory();
    }
  };

  await using opened = new CloseStack();
  const server = opened.add(
    await serveSocket({
      path: socketPath,
      reserved: options.reserved,
      ...(options.socketCheckMs !== undefined && { checkMs: options.socketCheckMs }),
      methods: [
        implementRaw(ADS_PATHS.sotw, serve("sotw")),
        implementRaw(ADS_PATHS.delta, serve("delta")),
        ...reflectionMethods(readAdsFiles, REFLECTED_SERVICES),
      ],
      maxReceiveBytes: options.maxReceiveBytes,
      maxConcurrentStreams: options.maxStreams,
      keepalive: options.downstreamKeepalive,
      pingPolicy: { minIntervalMs: options.downstreamKeepalive.intervalMs / 2, withoutCalls: false },
      log,
    }),
  );
  opened.add(warm);
  const describeStreams = () => registry.all.map((stream) => stream.describe(stream === registry.primary));
  const owned = opened.move();
  return toHandle({
    socketPath,
    ended: server.ended,
    prepare: () => warm.prepare(),
    reset() {
      for (const stream of registry.all) stream.reset();
    },
    reportHealth(next: WorkloadHealth) {
      health = next;
      const { primary } = registry;
      if (primary !== undefined) primary.send(healthRequest(primary.kind, next));
    },
    describeStreams,
    connectedNode: () => (registry.primary ?? registry.all.find(({ node }) => node !== undefined))?.node,
    notice() {
      const savedAt = options.lastGood?.current()?.savedAt;
      if (savedAt === undefined || describeStreams().every(({ source }) => source === "control-plane"))
        return undefined;
      return `serving last known good from ${new Date(savedAt).toISOString()}`;
    },
    stop: () => owned.close(),
  });
}

/** The control plane looks at the presence of an error only; there is no message behind this type. */
function healthRequest(kind: XdsProtocol, health: WorkloadHealth): Buffer {
  const error = health.healthy ? undefined : { code: INTERNAL, message: health.message };
  return encodeAgentRequest(kind, { typeUrl: HEALTH_TYPE, ...(error && { error }) });
}

/** A connection to the control plane made before its client is there, for the first one that comes. */
interface WarmUpstream {
  /** Begins to connect. A failure is ignored here: the client's own attempt reports it. */
  prepare(): void;
  /** At most once; undefined when there is none. */
  take(): GrpcChannel | undefined;
  stop(): Promise<void>;
}

function createWarmUpstream(options: UpstreamOptions): WarmUpstream {
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
