import { silentLogger } from "../../../src/base/logger.ts";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import {
  deltaDiscoveryRequest,
  deltaDiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
} from "../../../src/protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../../../src/xds/methods.ts";
import { declareXdsProxyMetrics } from "../../../src/xds-proxy/metrics.ts";
import type { XdsProxy, XdsProxyOptions } from "../../../src/xds-proxy/options.ts";
import { startXdsProxy } from "../../../src/xds-proxy/start-xds-proxy.ts";

export {
  CLUSTER_TYPE as CDS,
  ENDPOINT_TYPE as EDS,
  LISTENER_TYPE as LDS,
  SECRET_TYPE as SECRET,
} from "../../../src/xds/type-urls.ts";

export const NODE_ID = "sidecar~10.0.0.1~envoy.ns~ns.svc.cluster.local";

export interface AskOptions {
  readonly names?: readonly string[];
  readonly nonce?: string;
  readonly version?: string;
  readonly nack?: string;
  readonly unsubscribe?: readonly string[];
  readonly initial?: Readonly<Record<string, string>>;
  /** Absent: no node, as in every request but the first. */
  readonly agent?: string;
}

/** A client's request in either protocol. */
export function ask(kind: XdsProtocol, typeUrl: string, options: AskOptions = {}): Buffer {
  const { names = [], nonce = "", version = "", nack, agent } = options;
  const common = {
    typeUrl,
    responseNonce: nonce,
    ...(agent !== undefined && { node: { id: NODE_ID.replace("envoy", agent), userAgentName: agent } }),
    ...(nack !== undefined && { errorDetail: { code: 13, message: nack } }),
  };
  if (kind === "sotw") return discoveryRequest.encode({ ...common, versionInfo: version, resourceNames: names });
  return deltaDiscoveryRequest.encode({
    ...common,
    resourceNamesSubscribe: names,
    resourceNamesUnsubscribe: options.unsubscribe ?? [],
    initialResourceVersions: new Map(Object.entries(options.initial ?? {})),
  });
}

export interface PushOptions {
  readonly nonce?: string;
  readonly version?: string;
  readonly removed?: readonly string[];
}

/** A response whose resources have their name in field 1, as Envoy's have. */
export function push(kind: XdsProtocol, typeUrl: string, names: readonly string[], options: PushOptions = {}): Buffer {
  const { nonce = "n1", version = "v1", removed = [] } = options;
  const values = names.map((name) => ({ name, value: discoveryRequest.encode({ versionInfo: name }) }));
  if (kind === "sotw") {
    const resources = values.map(({ value }) => ({ typeUrl, value }));
    return discoveryResponse.encode({ versionInfo: version, typeUrl, nonce, resources });
  }
  return deltaDiscoveryResponse.encode({
    systemVersionInfo: version,
    typeUrl,
    nonce,
    resources: values.map(({ name, value }) => ({ version: `${version}-${name}`, name, resource: { typeUrl, value } })),
    removedResources: removed,
  });
}

/** Names, version and removals of a response. */
export function read(kind: XdsProtocol, bytes: Buffer) {
  const nameOf = (value: Uint8Array | undefined) => discoveryRequest.decode(Buffer.from(value ?? [])).versionInfo;
  if (kind === "sotw") {
    const { typeUrl, versionInfo, nonce, resources } = discoveryResponse.decode(bytes);
    return { typeUrl, version: versionInfo, nonce, names: resources.map(({ value }) => nameOf(value)), removed: [] };
  }
  const { typeUrl, systemVersionInfo, nonce, resources, removedResources } = deltaDiscoveryResponse.decode(bytes);
  const names = resources.map(({ resource }) => nameOf(resource?.value));
  return { typeUrl, version: systemVersionInfo, nonce, names, removed: removedResources };
}

export interface RunningProxy extends AsyncDisposable {
  readonly proxy: XdsProxy;
  readonly registry: MetricRegistry;
}

/** The proxy on a socket, to an upstream on loopback, quick in everything. */
export async function startTestProxy(
  address: string,
  socketPath: string,
  options: Partial<Omit<XdsProxyOptions, "upstream">> & {
    readonly upstream?: Partial<XdsProxyOptions["upstream"]>;
  } = {},
): Promise<RunningProxy> {
  const registry = new MetricRegistry();
  const proxy = await startXdsProxy({
    handlers: [],
    maxReceiveBytes: 64 * 1024 * 1024,
    maxStreams: 100_000,
    downstreamKeepalive: { intervalMs: 30_000, timeoutMs: 10_000 },
    clusterId: "c1",
    metrics: declareXdsProxyMetrics(registry),
    log: silentLogger,
    ...options,
    socketPath,
    upstream: {
      address,
      headers: {},
      keepalive: { intervalMs: 15_000, timeoutMs: 10_000 },
      connectTimeoutMs: 5000,
      ...options.upstream,
    },
  });
  return { proxy, registry, [Symbol.asyncDispose]: () => proxy.stop() };
}
