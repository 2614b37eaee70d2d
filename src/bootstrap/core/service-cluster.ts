import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";

export interface WorkloadNames {
  readonly labels: ReadonlyMap<string, string>;
  readonly workloadName: string;
  readonly namespace: string;
}

const DEFAULT_NAME = "istio-proxy";
const CANONICAL_LABELS = ["service.istio.io/canonical-name", "app.kubernetes.io/name", "app"];

/**
 * `node.cluster`: the name the workload's own telemetry carries. `defaultLabels` are the labels that stand in for the default name, in
 * order; null keeps the configured name as it is.
 */
export function serviceCluster(
  config: ProxyConfig,
  workload: WorkloadNames,
  defaultLabels: readonly string[] | null,
): string {
  if (defaultLabels === null) return config.serviceCluster ?? "";
  const orDefault = (name: string) => nameOrDefault(name, workload, defaultLabels);
  switch (config.tracingServiceName) {
    case "CANONICAL_NAME_ONLY":
      return orDefault(canonicalName(workload));
    case "CANONICAL_NAME_AND_NAMESPACE": {
      const canonical = canonicalName(workload);
      return workload.namespace === "" ? orDefault(canonical) : `${canonical}.${workload.namespace}`;
    }
    case "APP_LABEL_AND_NAMESPACE":
      return orDefault(DEFAULT_NAME);
    default:
      return orDefault(config.serviceCluster ?? DEFAULT_NAME);
  }
}

function nameOrDefault(name: string, workload: WorkloadNames, labels: readonly string[]): string {
  if (name !== "" && name !== DEFAULT_NAME) return name;
  const label = firstLabel(workload.labels, labels);
  if (label !== undefined) return `${label}.${workload.namespace}`;
  if (workload.workloadName !== "") return `${workload.workloadName}.${workload.namespace}`;
  return workload.namespace === "" ? DEFAULT_NAME : `${DEFAULT_NAME}.${workload.namespace}`;
}

function canonicalName(workload: WorkloadNames): string {
  return firstLabel(workload.labels, CANONICAL_LABELS) ?? (workload.workloadName || DEFAULT_NAME);
}

function firstLabel(labels: ReadonlyMap<string, string>, names: readonly string[]): string | undefined {
  const name = names.find((candidate) => labels.has(candidate));
  return name === undefined ? undefined : labels.get(name);
}
