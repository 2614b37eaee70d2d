import type { ConnectionPool } from "../../istio-api/specs/common.ts";
import type { CircuitBreakers, CircuitBreakers_Thresholds } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type { EffectivePolicy } from "../traffic-policy.ts";

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

const WITHOUT_LIMITS: CircuitBreakers = Object.freeze({
  thresholds: [
    {
      maxConnections: UNLIMITED,
      maxPendingRequests: UNLIMITED,
      maxRequests: UNLIMITED,
      maxRetries: UNLIMITED,
    },
  ],
});
