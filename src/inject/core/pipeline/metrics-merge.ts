import { parseGoBool } from "../../../base/parse-go-scalar.ts";
import { InjectError } from "../../inject-error.ts";
import { annotationsOf } from "../context.ts";
import { asList, asText, goJson, type Json, objects } from "../json.ts";
import { findProxy, withAnnotations, withProxy } from "./containers.ts";
import {
  isMergedMetricsPort,
  metricsAnnotation,
  metricsName,
  PATH,
  PORT,
  SCRAPE,
  TARGETS,
  withoutMetricsAnnotations,
} from "./metrics-annotations.ts";

const MERGE = "prometheus.istio.io/merge-metrics";
const SECURE_PORT = "prometheus.istio.io/secure-port";

/** Ports of the proxy that an application cannot serve metrics on. */
const RESERVED: Readonly<Record<number, string>> = {
  15000: "Envoy admin",
  15001: "Envoy outbound",
  15004: "debug interface",
  15006: "Envoy inbound",
  15008: "HBONE tunnel",
  15020: "merged metrics",
  15021: "health checks",
  15053: "DNS",
  15090: "Envoy metrics",
};

interface ScrapeTarget {
  readonly port: string;
  readonly path: string;
}

/**
 * Prometheus is sent to the agent, which merges the application's metrics with the proxy's; where to find the application's goes into
 * the proxy's environment.
 */
export function mergeMetrics(pod: Json, statusPort: number, isEnabledByMesh: boolean): Json {
  const annotations = annotationsOf(pod);
  if (!isMerged(annotations, statusPort, isEnabledByMesh)) return pod;
  const targets = parseTargets(metricsAnnotation(annotations, TARGETS) ?? "");
  const [first] = targets;
  const port = first?.port ?? metricsAnnotation(annotations, PORT) ?? "";
  const found = {
    scrape: metricsAnnotation(annotations, SCRAPE) ?? "",
    path: first?.path ?? metricsAnnotation(annotations, PATH) ?? "",
    port,
    ...(targets.length > 0 && { targets }),
  };
  if (targets.length > 0) {
    for (const target of targets) checkPort(target.port, statusPort, "scrape targets", "target port");
  } else if (port !== "") checkPort(port, statusPort, "scrape configuration", "port");
  const isEmpty = found.scrape === "" && found.path === "" && found.port === "";
  const withEnv =
    isEmpty || findProxy(pod) === undefined
      ? pod
      : withProxy(pod, (proxy) => ({
          ...proxy,
          env: [...asList(proxy.env), { name: "ISTIO_PROMETHEUS_ANNOTATIONS", value: goJson(found) }],
        }));
  return withAnnotations(withEnv, {
    ...withoutMetricsAnnotations(annotations),
    "prometheus.io/port": String(statusPort),
    "prometheus.io/path": "/stats/prometheus",
    "prometheus.io/scrape": "true",
  });
}

function isMerged(
  annotations: Readonly<Record<string, string>>,
  statusPort: number,
  isEnabledByMesh: boolean,
): boolean {
  const refused = Object.entries(annotations).some(
    ([name, value]) => metricsName(name) === SCRAPE && parseGoBool(value) === false,
  );
  if (refused || isMergedMetricsPort(annotations, statusPort)) return false;
  return parseGoBool(annotations[MERGE] ?? "") ?? isEnabledByMesh;
}

/** `port[:path]` separated by commas; a part without a port makes the whole annotation unusable. */
function parseTargets(text: string): readonly ScrapeTarget[] {
  const targets = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => {
      const [, port = "", path = ""] = /^([^:]*):?(.*)$/s.exec(part) ?? [];
      return { port: port.trim(), path: path.trim() || "/metrics" };
    });
  return targets.some(({ port }) => port === "") ? [] : targets;
}

function checkPort(text: string, statusPort: number, what: string, word: string): void {
  const fail = (problem: string) => {
    throw new InjectError("invalid-annotation", `invalid prometheus ${what}: ${problem}`);
  };
  const port = /^[+-]?\d+$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65535) fail(`invalid ${word} "${text}": allowed are 1 to 65535`);
  if (port === statusPort) fail(`${word} ${text} conflicts with agent port`);
  const reason = RESERVED[port];
  if (reason !== undefined) fail(`${word} ${text} is reserved for Istio (${reason}) and cannot be scraped`);
}

/** A proxy that serves merged metrics over mutual TLS says so to Prometheus, unless the user does. */
export function annotateSecurePort(pod: Json): Json {
  const annotations = annotationsOf(pod);
  if (Object.keys(annotations).some((name) => metricsName(name) === metricsName(SECURE_PORT))) return pod;
  const variable = objects(findProxy(pod)?.env).find(({ name }) => name === "ENVOY_SECURE_MERGED_METRICS_PORT");
  const port = asText(variable?.value);
  return port === "" || port === "0" ? pod : withAnnotations(pod, { ...annotations, [SECURE_PORT]: port });
}
