import { parseDuration } from "../../base/duration.ts";
import { isJsonObject } from "../../base/json-object.ts";
import type { GatewayTopology, ProxyHeaders } from "../../istio-api/proxy-config/proxy-config.ts";
import type { TelemetryTracing } from "../../istio-api/specs.ts";
import { formatProtoDuration } from "../../protobuf/proto-duration.ts";

/** How a proxy wants its listeners to be. */
export interface NodeListening {
  /** HTTP/1.0 is accepted. */
  readonly http10: boolean;
  /** Of connections without traffic, as protobuf spells it; empty: never. */
  readonly idleTimeout: string;
  /** Ports of the listeners that its bootstrap has already. */
  readonly staticPorts: readonly number[];
  /** Connections are spread over the workers exactly. */
  readonly outboundBalance: boolean;
  readonly inboundBalance: boolean;
  /** Of its own proxy configuration; undefined: the mesh's default. */
  readonly headers?: ProxyHeaders;
  /** What stands in front of a router. */
  readonly topology?: GatewayTopology;
  /** Of its own proxy configuration; undefined: it says nothing about spans. */
  readonly tracing?: ProxyTracing;
}

/** What a proxy configuration says about spans. */
export interface ProxyTracing {
  /** The bootstrap made from it has a tracer. */
  readonly hasTracer: boolean;
  readonly sampling?: number;
  readonly customTags?: TelemetryTracing["customTags"];
  readonly maxTagLength?: number;
  readonly hasMeshTags?: boolean;
}

export function readListening(metadata: Readonly<Record<string, unknown>>): NodeListening {
  const text = (name: string) => textOf(metadata[name]);
  const isTrue = (name: string) => /^(?:1|t|T|TRUE|true|True)$/.test(text(name));
  const config = metadata.PROXY_CONFIG;
  return Object.freeze({
    http10: text("HTTP10") === "1",
    idleTimeout: idleTimeout(text("IDLE_TIMEOUT")),
    staticPorts: staticPorts(text),
    outboundBalance: isTrue("OUTBOUND_LISTENER_EXACT_BALANCE"),
    inboundBalance: isTrue("INBOUND_LISTENER_EXACT_BALANCE"),
    // A proxy that sends its configuration has said everything about headers; what is absent there is not set.
    ...(isJsonObject(config) && {
      headers: isJsonObject(config.proxyHeaders) ? (config.proxyHeaders as ProxyHeaders) : {},
    }),
    ...(isJsonObject(config) &&
      isJsonObject(config.gatewayTopology) && { topology: config.gatewayTopology as GatewayTopology }),
    ...(isJsonObject(config) && isJsonObject(config.tracing) && { tracing: proxyTracing(config.tracing) }),
  });
}

/** Of a proxy configuration in proto3 JSON form. Tracers that bootstraps have: the others come with listeners, or not at all. */
export function proxyTracing(tracing: Readonly<Record<string, unknown>>): ProxyTracing {
  const { zipkin, datadog, lightstep, sampling, customTags, maxPathTagLength, enableIstioTags } = tracing;
  const hasAddress = (tracer: unknown) => isJsonObject(tracer) && textOf(tracer.address) !== "";
  return Object.freeze({
    hasTracer: [zipkin, datadog, lightstep].some(hasAddress),
    ...(typeof sampling === "number" && { sampling }),
    ...(isJsonObject(customTags) && { customTags: customTags as TelemetryTracing["customTags"] }),
    ...(typeof maxPathTagLength === "number" && { maxTagLength: maxPathTagLength }),
    ...(typeof enableIstioTags === "boolean" && { hasMeshTags: enableIstioTags }),
  });
}

/** Readiness and statistics; agents that do not send them use the usual ports. */
function staticPorts(text: (name: string) => string): readonly number[] {
  const ports = STATIC_PORTS.map((name) => Number(text(name))).filter((port) => port > 0);
  return ports.length > 0 ? Object.freeze(ports) : USUAL_PORTS;
}

const USUAL_PORTS: readonly number[] = Object.freeze([15021, 15090]);
const STATIC_PORTS = [
  "ENVOY_STATUS_PORT",
  "ENVOY_PROMETHEUS_PORT",
  "ENVOY_SECURE_METRICS_PORT",
  "ENVOY_SECURE_MERGED_METRICS_PORT",
];

function idleTimeout(text: string): string {
  if (text === "") return "";
  try {
    return formatProtoDuration(parseDuration(text));
  } catch {
    return "";
  }
}

/** Structures are not text: those of the wire have no prototype, and cannot even be made into some. */
function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}
