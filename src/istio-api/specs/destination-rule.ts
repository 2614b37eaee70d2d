import {
  bool,
  double,
  duration,
  type Infer,
  int32,
  list,
  map,
  message,
  oneOf,
  optional,
  string,
  uint32,
  uint64,
} from "../schema/schema.ts";
import { CLIENT_TLS, CONNECTION_POOL, LABEL_SELECTOR, PORT_SELECTOR } from "./common.ts";

const CONSISTENT_HASH = message(
  "consistent hash",
  {
    httpHeaderName: optional(string),
    httpCookie: message("http cookie", {
      name: string,
      path: string,
      ttl: duration,
      attributes: list(message("cookie attribute", { name: string, value: string })),
    }),
    useSourceIp: optional(bool),
    httpQueryParameterName: optional(string),
    ringHash: message("ring hash", { minimumRingSize: uint64 }),
    maglev: message("maglev", { tableSize: uint64 }),
    minimumRingSize: uint64,
  },
  [
    ["httpHeaderName", "httpCookie", "useSourceIp", "httpQueryParameterName"],
    ["ringHash", "maglev"],
  ],
);
export interface ConsistentHash extends Infer<typeof CONSISTENT_HASH> {}

const LOCALITY_LB = message("locality load balancing", {
  distribute: list(message("distribute", { from: string, to: map(uint32) })),
  failover: list(message("failover", { from: string, to: string })),
  failoverPriority: list(string),
  enabled: optional(bool),
});
export interface LocalityLb extends Infer<typeof LOCALITY_LB> {}

export const ZONE_AWARE_LB = message("zone aware load balancing", {
  enabled: optional(bool),
  failover: list(message("failover", { from: string, to: string })),
  failoverPriority: list(string),
  minClusterSize: optional(uint32),
});
export interface ZoneAwareLb extends Infer<typeof ZONE_AWARE_LB> {}

const LOAD_BALANCER = message(
  "load balancer",
  {
    simple: optional(oneOf("UNSPECIFIED", "LEAST_CONN", "RANDOM", "PASSTHROUGH", "ROUND_ROBIN", "LEAST_REQUEST")),
    consistentHash: CONSISTENT_HASH,
    localityLbSetting: LOCALITY_LB,
    zoneAwareLbSetting: ZONE_AWARE_LB,
    warmupDurationSecs: duration,
    warmup: message("warmup", { duration, minimumPercent: optional(double), aggression: optional(double) }),
  },
  [["simple", "consistentHash"]],
);
export interface LoadBalancer extends Infer<typeof LOAD_BALANCER> {}

const OUTLIER_DETECTION = message("outlier detection", {
  consecutiveErrors: int32,
  splitExternalLocalOriginErrors: bool,
  consecutiveLocalOriginFailures: optional(uint32),
  consecutiveGatewayErrors: optional(uint32),
  consecutive5xxErrors: optional(uint32),
  interval: duration,
  baseEjectionTime: duration,
  maxEjectionPercent: int32,
  minHealthPercent: int32,
  outlierDetectionHttpErrorCodes: list(uint32),
});
export interface OutlierDetection extends Infer<typeof OUTLIER_DETECTION> {}

const POLICY = {
  loadBalancer: LOAD_BALANCER,
  connectionPool: CONNECTION_POOL,
  outlierDetection: OUTLIER_DETECTION,
  tls: CLIENT_TLS,
} as const;

/** What the mesh may say for all services. */
export const DEFAULT_TRAFFIC_POLICY = message("default traffic policy", {
  connectionPool: CONNECTION_POOL,
  outlierDetection: OUTLIER_DETECTION,
});

const PORT_POLICY = message("port level settings", { port: PORT_SELECTOR, ...POLICY });
export interface PortTrafficPolicy extends Infer<typeof PORT_POLICY> {}

const TRAFFIC_POLICY = message("traffic policy", {
  ...POLICY,
  portLevelSettings: list(PORT_POLICY),
  tunnel: message("tunnel", { protocol: string, targetHost: string, targetPort: uint32 }),
  proxyProtocol: message("proxy protocol", { version: oneOf("V1", "V2") }),
  retryBudget: message("retry budget", {
    percent: optional(double),
    minRetryConcurrency: uint32,
    budgetInterval: duration,
  }),
});
export interface TrafficPolicy extends Infer<typeof TRAFFIC_POLICY> {}

const SUBSET = message("subset", { name: string, labels: map(string), trafficPolicy: TRAFFIC_POLICY });
export interface Subset extends Infer<typeof SUBSET> {}

export const DESTINATION_RULE = message("destination rule", {
  host: string,
  trafficPolicy: TRAFFIC_POLICY,
  subsets: list(SUBSET),
  exportTo: list(string),
  workloadSelector: LABEL_SELECTOR,
});
export interface DestinationRuleSpec extends Infer<typeof DESTINATION_RULE> {}
