import type { ConsistentHash, LoadBalancer } from "../../istio-api/specs.ts";
import type { Service } from "../../mesh-model/service.ts";
import { constantMessage } from "../../protobuf/envoy/index.ts";
import type { Cluster, Cluster_SlowStartConfig } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type { HealthStatusSet } from "../../protobuf/gen/envoy/config/core/v3.ts";
import { type LocalitySetting, localityBalancing, panicPercent } from "../endpoints/locality-lb.ts";
import type { EffectivePolicy } from "../shared/traffic-policy.ts";

type Balancing = Pick<
  Cluster,
  "lbPolicy" | "ringHashLbConfig" | "maglevLbConfig" | "leastRequestLbConfig" | "roundRobinLbConfig"
>;

const DEFAULT_RING_SIZE = 1024;
/** Envoy refuses larger rings. */
const MAX_RING_SIZE = 8388608;

/** How one of several endpoints is chosen. PASSTHROUGH makes another type of cluster and is not decided here. */
export function loadBalancing(settings: LoadBalancer | undefined): Balancing {
  if (settings?.consistentHash !== undefined) return hashing(settings.consistentHash);
  const slowStartConfig = settings && slowStart(settings);
  switch (settings?.simple) {
    case "RANDOM":
      return { lbPolicy: "RANDOM" };
    case "ROUND_ROBIN":
      // Envoy's default, so that the policy need not be said.
      return slowStartConfig === undefined ? {} : { roundRobinLbConfig: { slowStartConfig } };
    default:
      return slowStartConfig === undefined
        ? { lbPolicy: "LEAST_REQUEST" }
        : { lbPolicy: "LEAST_REQUEST", leastRequestLbConfig: { slowStartConfig } };
  }
}

/** No panic unless a rule asks for it: unhealthy endpoints stay without traffic even when all are. */
export function commonBalancing(
  policy: Pick<EffectivePolicy, "outlierDetection">,
  setting: LocalitySetting | undefined,
  { service = {}, keepsSessions = false }: BalancingOptions = {},
): Pick<Cluster, "commonLbConfig"> {
  const percent = panicPercent(policy, service);
  const balancing = localityBalancing(setting);
  if (percent <= 0 && !keepsSessions && Object.keys(balancing).length === 0) return WITHOUT_PANIC;
  return {
    commonLbConfig: {
      healthyPanicThreshold: percent > 0 ? { value: percent } : {},
      ...balancing,
      ...(keepsSessions && { overrideHostStatus: SESSION_STATUSES }),
    },
  };
}

interface BalancingOptions {
  readonly service?: Pick<Service, "trafficDistribution">;
  /** A session may ask for its endpoint, also when it goes away. */
  readonly keepsSessions?: boolean;
}

const SESSION_STATUSES = Object.freeze<HealthStatusSet>({ statuses: ["HEALTHY", "DRAINING", "UNKNOWN", "DEGRADED"] });

const WITHOUT_PANIC: Pick<Cluster, "commonLbConfig"> = {
  commonLbConfig: constantMessage({ healthyPanicThreshold: {} }),
};

function hashing({ ringHash, maglev, minimumRingSize }: ConsistentHash): Balancing {
  if (maglev !== undefined) {
    return maglev.tableSize === 0
      ? { lbPolicy: "MAGLEV" }
      : { lbPolicy: "MAGLEV", maglevLbConfig: { tableSize: String(maglev.tableSize) } };
  }
  const size = ringHash === undefined ? minimumRingSize || DEFAULT_RING_SIZE : ringHash.minimumRingSize;
  return size === 0
    ? { lbPolicy: "RING_HASH" }
    : { lbPolicy: "RING_HASH", ringHashLbConfig: { minimumRingSize: String(Math.min(size, MAX_RING_SIZE)) } };
}

/** Traffic to a new endpoint grows for a while. */
function slowStart({ warmup, warmupDurationSecs }: LoadBalancer): Cluster_SlowStartConfig | undefined {
  if (warmup?.duration !== undefined) {
    return {
      slowStartWindow: warmup.duration,
      // Envoy asks for some key, under which an operator could override the value at run time.
      aggression: { defaultValue: warmup.aggression ?? 1, runtimeKey: "(" },
      minWeightPercent: { value: warmup.minimumPercent ?? 10 },
    };
  }
  return warmupDurationSecs === undefined ? undefined : { slowStartWindow: warmupDurationSecs };
}
