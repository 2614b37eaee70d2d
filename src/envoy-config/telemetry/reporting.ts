import type { OutboundScope, ProxyView } from "../../mesh-model/push-snapshot.ts";
import { type TelemetryLayer, telemetryLayers, telemetryObjects } from "../../mesh-model/telemetry.ts";
import type { AccessLog } from "../../protobuf/gen/envoy/config/accesslog/v3.ts";
import type { ListenerFilter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { inboundLogs, outboundLogs } from "../access-log/telemetry.ts";
import { type FailedObject, withoutFailing } from "../shared/attempt.ts";
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
  /** Objects that nothing can be made of. */
  readonly failed: readonly FailedObject[];
}

export interface OutboundReporting extends Reporting, MetricLogs {
  /** Lets connections know whose they are. */
  readonly listenerFilters: readonly ListenerFilter[];
}

/** Of calls that workloads of the scope make. */
export function outboundReporting(scope: OutboundScope): OutboundReporting {
  const { mesh, traits, snapshot } = scope;
  const objects = telemetryObjects(snapshot.configs, mesh.rootNamespace, traits.namespace);
  const { made, failed } = withoutFailing(objects, (some) =>
    outboundBy(scope, telemetryLayers(some, mesh.rootNamespace, traits)),
  );
  return { ...made, failed };
}

function outboundBy(scope: OutboundScope, layers: readonly TelemetryLayer[]): Omit<OutboundReporting, "failed"> {
  const logs = outboundLogs(scope, layers);
  const metrics = outboundMetrics(scope, layers);
  const tracing = outboundTracing(scope, layers);
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
  const { mesh, configs } = view.snapshot;
  const objects = telemetryObjects(configs, mesh.rootNamespace, view.node.namespace);
  const { made, failed } = withoutFailing(objects, (some) =>
    inboundBy(view, telemetryLayers(some, mesh.rootNamespace, view.node)),
  );
  return { ...made, failed };
}

function inboundBy(view: ProxyView, layers: readonly TelemetryLayer[]): Omit<InboundReporting, "failed"> {
  const logs = inboundLogs(view, layers);
  const metrics = inboundMetrics(view, layers);
  const tracing = inboundTracing(view, layers);
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
