import { parseDuration } from "../../base/duration.ts";
import type { ConnectionPool } from "../../istio-api/specs.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import { constantMessage } from "../../protobuf/envoy/index.ts";
import type {
  CircuitBreakers,
  CircuitBreakers_Thresholds,
  Cluster,
} from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type { TcpKeepalive } from "../../protobuf/gen/envoy/config/core/v3.ts";
import { formatProtoDuration } from "../../protobuf/proto-duration.ts";
import type { EffectivePolicy } from "../shared/traffic-policy.ts";

/** Envoy's own limits (1024 of each) would be surprising in a mesh: without a rule there is none. */
const UNLIMITED = 4294967295;

const DEFAULT_RETRY_BUDGET = { percent: 20, minRetryConcurrency: 3 };

/** How much may be under way at once. Zero means no limit, as in the API's text. */
export function circuitBreakers(
  pool: ConnectionPool | undefined,
  retryBudget?: EffectivePolicy["retryBudget"],
): CircuitBreakers {
  if (pool === undefined && retryBudget === undefined) return WITHOUT_LIMITS;
  const { tcp, http } = pool ?? {};
  const thresholds: CircuitBreakers_Thresholds = {
    maxConnections: limit(tcp?.maxConnections),
    maxPendingRequests: limit(http?.http1MaxPendingRequests),
    maxRequests: limit(http?.http2MaxRequests),
    maxRetries: limit(http?.maxRetries),
    ...(retryBudget && { retryBudget: toRetryBudget(retryBudget) }),
  };
  return { thresholds: [thresholds] };
}

function limit(given: number | undefined): number {
  return given === undefined || given <= 0 ? UNLIMITED : given;
}

function toRetryBudget({ percent, minRetryConcurrency, budgetInterval }: NonNullable<EffectivePolicy["retryBudget"]>) {
  return {
    budgetPercent: { value: percent ?? DEFAULT_RETRY_BUDGET.percent },
    ...(budgetInterval !== undefined && { budgetInterval }),
    minRetryConcurrency: minRetryConcurrency === 0 ? DEFAULT_RETRY_BUDGET.minRetryConcurrency : minRetryConcurrency,
  };
}

const WITHOUT_LIMITS = constantMessage<CircuitBreakers>({
  thresholds: [
    {
      maxConnections: UNLIMITED,
      maxPendingRequests: UNLIMITED,
      maxRequests: UNLIMITED,
      maxRetries: UNLIMITED,
    },
  ],
});

/** Connect timeout and keepalive: the rule's settings, member by member, else the mesh's. */
export function upstreamConnection(
  mesh: MeshSettings,
  pool: ConnectionPool | undefined,
): Pick<Cluster, "connectTimeout" | "upstreamConnectionOptions"> {
  const general = meshKeepalive(mesh);
  const own = pool?.tcp?.tcpKeepalive;
  return {
    connectTimeout: pool?.tcp?.connectTimeout ?? formatProtoDuration(BigInt(Math.round(mesh.connectTimeoutMs * 1e6))),
    ...((own ?? general) && {
      upstreamConnectionOptions: { tcpKeepalive: { ...tcpKeepalive(general), ...tcpKeepalive(own) } },
    }),
  };
}

interface Keepalive {
  readonly probes?: number;
  readonly time?: string;
  readonly interval?: string;
}

function meshKeepalive({ source }: MeshSettings): Keepalive | undefined {
  const { tcpKeepalive } = source as { readonly tcpKeepalive?: Keepalive };
  return tcpKeepalive;
}

/** Members that are not given are left to the operating system. */
function tcpKeepalive({ probes = 0, time, interval }: Keepalive = {}): TcpKeepalive {
  return {
    ...(probes > 0 && { keepaliveProbes: probes }),
    ...(time !== undefined && { keepaliveTime: wholeSeconds(time) }),
    ...(interval !== undefined && { keepaliveInterval: wholeSeconds(interval) }),
  };
}

/** At least one: the operating system knows no shorter time, and zero would mean its default. */
function wholeSeconds(duration: string): number {
  return Math.max(1, Number(parseDuration(duration) / 1_000_000_000n));
}
