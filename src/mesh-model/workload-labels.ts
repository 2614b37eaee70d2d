/** What of a workload shows in metrics and spans. */
export interface WorkloadLabels {
  readonly workload: string;
  readonly namespace: string;
  readonly app: string;
  readonly version: string;
  readonly canonicalService: string;
  readonly canonicalRevision: string;
  readonly cluster: string;
}

/** Names under which endpoints, connections and requests carry them. */
export const WORKLOAD_LABEL_NAMES = [
  "workload",
  "namespace",
  "app",
  "version",
  "canonicalService",
  "canonicalRevision",
  "cluster",
] as const satisfies readonly (keyof WorkloadLabels)[];

export const UNKNOWN = "unknown";

/** Labels that give the canonical name and revision of a workload, the first that is set. */
export const CANONICAL_NAME_LABELS = ["service.istio.io/canonical-name", "app.kubernetes.io/name", "app"] as const;
export const CANONICAL_REVISION_LABELS = [
  "service.istio.io/canonical-revision",
  "app.kubernetes.io/version",
  "version",
] as const;

/** Where the platform does not know what a workload is called, for endpoints that an object lists. */
export const WORKLOAD_NAME_LABEL = "service.istio.io/workload-name";

interface Named {
  readonly workloadName: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly clusterId: string;
}

/** What is not known is `unknown`; a revision without a name is `latest`. */
export function workloadLabels({ workloadName: given, namespace, labels, clusterId }: Named): WorkloadLabels {
  const workloadName = labels[WORKLOAD_NAME_LABEL] || given;
  const first = (names: readonly string[]) => names.map((name) => labels[name] ?? "").find((value) => value !== "");
  return {
    workload: workloadName || UNKNOWN,
    namespace: namespace || UNKNOWN,
    app: labels.app || UNKNOWN,
    version: labels.version || UNKNOWN,
    canonicalService: first(CANONICAL_NAME_LABELS) ?? (workloadName || UNKNOWN),
    canonicalRevision: first(CANONICAL_REVISION_LABELS) ?? "latest",
    cluster: clusterId || UNKNOWN,
  };
}
