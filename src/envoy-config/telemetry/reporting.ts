import type { OutboundScope, ProxyView } from "../../mesh-model/push-snapshot.ts";
import type { AccessLog } from "../../protobuf/gen/envoy/config/accesslog/v3.ts";
import type { ListenerFilter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { inboundLogs, outboundLogs } from "../access-log/telemetry.ts";
import { localWorkloadFilter } from "./local-workload.ts";
import type { ServedService } from "./metric-tags.ts";
import { describesPeers, inboundMetrics, type MetricLogs, onlyAtEnd, outboundMetrics } from "./metrics.ts";
import { inboundTracing, type ManagerTracing, outboundTracing } from "./tracing.ts";

/** Everything by which listeners of one direction report their traffic. */
export interface Reporting {
  /** Of a listener itself: connections for which no filter chain was found, which no other log has. */
  readonly listener: readonly AccessLog[];
  readonly tracing: ManagerTracing;
  /** What an object asks for and cannot be had. */
  readonly problems: readonly string[];
}

export interface OutboundReporting extends Reporting, MetricLogs {
  /** Lets connections know whose they are. */
  readonly listenerFilters: readonly ListenerFilter[];
}

/** Of calls that workloads of the scope make. */
export function outboundReporting(scope: OutboundScope): OutboundReporting {
  const logs = outboundLogs(scope);
  const metrics = outboundMetrics(scope);
  const tracing = outboundTracing(scope);
  return {
    ...joined(logs.traffic, metrics.logs),
    listener: logs.listener,
    listenerFilters: describesPeers(scope) ? [localWorkloadFilter()] : [],
    tracing,
    problems: [...logs.problems, ...metrics.problems, ...tracing.problems],
  };
}

export interface InboundReporting extends Reporting {
  /** Of calls to one of the workload's services. */
  logsOf(service: ServedService): MetricLogs;
}

/** Of calls to the view's workload. */
export function inboundReporting(view: ProxyView): InboundReporting {
  const logs = inboundLogs(view);
  const metrics = inboundMetrics(view);
  const tracing = inboundTracing(view);
  return {
    logsOf: (service) => joined(logs.traffic, metrics.logs(service)),
    listener: logs.listener,
    tracing,
    problems: [...logs.problems, ...metrics.problems, ...tracing.problems],
  };
}

function joined(traffic: readonly AccessLog[], { http, tcp }: MetricLogs): MetricLogs {
  const asked = tcp.length === 0 ? traffic : traffic.map(onlyAtEnd);
  return { http: [...traffic, ...http], tcp: [...asked, ...tcp] };
}
