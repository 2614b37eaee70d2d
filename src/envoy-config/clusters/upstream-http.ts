import type { ConnectionPool } from "../../istio-api/specs.ts";
import { isHttp, isHttp2, isSniffed, type Protocol } from "../../istio-api/values/protocol.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type {
  HttpProtocolOptions as CommonOptions,
  Http1ProtocolOptions,
  Http2ProtocolOptions,
  UpstreamHttpProtocolOptions,
} from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { HttpProtocolOptions } from "../../protobuf/gen/envoy/extensions/upstreams/http/v3.ts";

/** What the proxy speaks to an endpoint. `downstream`: what its client speaks. */
export type UpstreamProtocol = "http1" | "http2" | "downstream";

interface UpstreamProtocolOptions {
  readonly pool?: ConnectionPool | undefined;
  /** The mesh's default for HTTP ports. */
  readonly upgradesToHttp2?: boolean;
  /** Names of headers keep their case, which HTTP/2 does not know. */
  readonly preservesHeaderCase?: boolean;
  /** Who calls; undefined: a sidecar. */
  readonly proxy?: "sidecar" | "router";
}

/**
 * `UPGRADE` in a rule counts for every port that says what it carries; a sniffed one speaks as its client does. Not so behind a router:
 * it offers HTTP/2 to everybody, so that what its clients speak says nothing of what the workload understands.
 */
export function upstreamProtocol(
  protocol: Protocol,
  { pool, upgradesToHttp2 = false, preservesHeaderCase = false, proxy = "sidecar" }: UpstreamProtocolOptions = {},
): UpstreamProtocol {
  const { h2UpgradePolicy = "DEFAULT", useClientProtocol = false } = pool?.http ?? {};
  if (useClientProtocol) return "downstream";
  if (isHttp2(protocol)) return "http2";
  if (isSniffed(protocol) && proxy === "sidecar") return "downstream";
  if (preservesHeaderCase && (isHttp(protocol) || isSniffed(protocol))) return "http1";
  if (h2UpgradePolicy === "UPGRADE") return "http2";
  return h2UpgradePolicy === "DEFAULT" && upgradesToHttp2 && isHttp(protocol) ? "http2" : "http1";
}

type TypedOptions = Pick<Cluster, "typedExtensionProtocolOptions">;

/** What besides the pool belongs to the options of a cluster. */
interface FurtherOptions {
  /** What TLS asks for. */
  readonly upstreamHttpProtocolOptions?: UpstreamHttpProtocolOptions | undefined;
  /** See `headerCase`. */
  readonly http1?: Http1ProtocolOptions | undefined;
}

/** Nothing for a cluster that speaks HTTP/1 or TCP without further options: that is Envoy's default. */
export function httpOptions(
  upstream: UpstreamProtocol,
  pool?: ConnectionPool,
  { upstreamHttpProtocolOptions, http1 }: FurtherOptions = {},
): TypedOptions {
  const commonHttpProtocolOptions = commonOptions(pool);
  const http2 = upstream === "http2" ? http2Options(pool) : undefined;
  if ((upstreamHttpProtocolOptions ?? commonHttpProtocolOptions ?? http2 ?? http1) === undefined) {
    return PLAIN[upstream];
  }
  return typed({
    ...(commonHttpProtocolOptions && { commonHttpProtocolOptions }),
    ...(upstreamHttpProtocolOptions && { upstreamHttpProtocolOptions }),
    ...protocolConfig(upstream, http1, http2),
  });
}

function commonOptions(pool: ConnectionPool | undefined): CommonOptions | undefined {
  const { tcp, http } = pool ?? {};
  const idleTimeout = http?.idleTimeout ?? tcp?.idleTimeout;
  const maxConnectionDuration = tcp?.maxConnectionDuration;
  const { maxRequestsPerConnection = 0, maxConcurrentStreams = 0, http2KeepAlive } = http ?? {};
  const isSet = idleTimeout ?? maxConnectionDuration ?? http2KeepAlive;
  if (isSet === undefined && maxRequestsPerConnection <= 0 && maxConcurrentStreams <= 0) return undefined;
  return {
    ...(idleTimeout !== undefined && { idleTimeout }),
    ...(maxConnectionDuration !== undefined && { maxConnectionDuration }),
    ...(maxRequestsPerConnection > 0 && { maxRequestsPerConnection }),
  };
}

/** For clusters that always speak HTTP/2; what follows the client is left as the client's own connection is. */
function http2Options(pool: ConnectionPool | undefined): Http2ProtocolOptions | undefined {
  const { maxConcurrentStreams = 0, http2KeepAlive } = pool?.http ?? {};
  if (maxConcurrentStreams <= 0 && http2KeepAlive === undefined) return undefined;
  return {
    ...(maxConcurrentStreams > 0 && { maxConcurrentStreams }),
    ...(http2KeepAlive && { connectionKeepalive: http2KeepAlive }),
  };
}

function protocolConfig(
  upstream: UpstreamProtocol,
  httpProtocolOptions: Http1ProtocolOptions = {},
  http2ProtocolOptions: Http2ProtocolOptions = {},
): HttpProtocolOptions {
  switch (upstream) {
    case "http1":
      return { explicitHttpConfig: { httpProtocolOptions } };
    case "http2":
      return { explicitHttpConfig: { http2ProtocolOptions } };
    case "downstream":
      return { useDownstreamProtocolConfig: { httpProtocolOptions, http2ProtocolOptions } };
  }
}

function typed(options: HttpProtocolOptions): TypedOptions {
  return { typedExtensionProtocolOptions: { [TYPE]: pack(TYPE, options) } };
}

const TYPE = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
const PLAIN: Readonly<Record<UpstreamProtocol, TypedOptions>> = {
  http1: {},
  http2: typed(protocolConfig("http2")),
  downstream: typed(protocolConfig("downstream")),
};
