import { type EnumTable, field, list, type MessageTable, wrapper } from "../../protobuf/json-message/message-table.ts";
import { TCP_KEEPALIVE } from "../proxy-config/proxy-config-table.ts";

const networking = (name: string, ...fields: MessageTable["fields"]): MessageTable => ({
  fullName: `istio.networking.v1alpha3.${name}`,
  fields,
});

const H2_UPGRADE: EnumTable = {
  fullName: "istio.networking.v1alpha3.ConnectionPoolSettings.HTTPSettings.H2UpgradePolicy",
  values: { DEFAULT: 0, DO_NOT_UPGRADE: 1, UPGRADE: 2 },
};

const TCP_SETTINGS = networking(
  "ConnectionPoolSettings.TCPSettings",
  field("maxConnections", 1, "int32"),
  field("connectTimeout", 2, "duration"),
  field("tcpKeepalive", 3, TCP_KEEPALIVE),
  field("maxConnectionDuration", 4, "duration"),
  field("idleTimeout", 5, "duration"),
);

const HTTP_SETTINGS = networking(
  "ConnectionPoolSettings.HTTPSettings",
  field("http1MaxPendingRequests", 1, "int32"),
  field("http2MaxRequests", 2, "int32"),
  field("maxRequestsPerConnection", 3, "int32"),
  field("maxRetries", 4, "int32"),
  field("idleTimeout", 5, "duration"),
  field("h2UpgradePolicy", 6, H2_UPGRADE),
  field("useClientProtocol", 7, "bool"),
  field("maxConcurrentStreams", 8, "int32"),
  field(
    "http2KeepAlive",
    9,
    networking(
      "ConnectionPoolSettings.HTTPSettings.ConnectionKeepalive",
      field("interval", 1, "duration"),
      field("timeout", 2, "duration"),
    ),
  ),
);

const OUTLIER_DETECTION = networking(
  "OutlierDetection",
  field("consecutiveErrors", 1, "int32"),
  field("splitExternalLocalOriginErrors", 8, "bool"),
  field("consecutiveLocalOriginFailures", 9, "uint32", wrapper),
  field("consecutiveGatewayErrors", 6, "uint32", wrapper),
  field("consecutive5xxErrors", 7, "uint32", { ...wrapper, protoName: "consecutive_5xx_errors" }),
  field("interval", 2, "duration"),
  field("baseEjectionTime", 3, "duration"),
  field("maxEjectionPercent", 4, "int32"),
  field("minHealthPercent", 5, "int32"),
  field("outlierDetectionHttpErrorCodes", 10, "uint32", list),
);

export const DEFAULT_TRAFFIC_POLICY: MessageTable = {
  fullName: "istio.mesh.v1alpha1.MeshConfig.DefaultTrafficPolicy",
  fields: [
    field(
      "connectionPool",
      1,
      networking("ConnectionPoolSettings", field("tcp", 1, TCP_SETTINGS), field("http", 2, HTTP_SETTINGS)),
    ),
    field("outlierDetection", 2, OUTLIER_DETECTION),
  ],
};

export const ZONE_AWARE_LB = networking(
  "ZoneAwareLoadBalancerSetting",
  field("enabled", 1, "bool", wrapper),
  field(
    "failover",
    2,
    networking("ZoneAwareLoadBalancerSetting.Failover", field("from", 1, "string"), field("to", 2, "string")),
    list,
  ),
  field("failoverPriority", 3, "string", list),
  field("minClusterSize", 4, "uint32", wrapper),
);
