/** Prometheus finds an annotation in any spelling that gives the same label name. */
export function metricsName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_]/g, "_");
}

export const SCRAPE = "prometheus_io_scrape";
export const PORT = "prometheus_io_port";
export const PATH = "prometheus_io_path";
export const TARGETS = "prometheus_istio_io_scrape_targets";
const MERGED: readonly string[] = [SCRAPE, PORT, PATH, TARGETS];

/** The value of an annotation in any spelling; of several the plain one wins, then the first in order. */
export function metricsAnnotation(annotations: Readonly<Record<string, string>>, wanted: string): string | undefined {
  const names = Object.keys(annotations)
    .filter((name) => metricsName(name) === wanted)
    .sort();
  const plain = names.find((name) => /^prometheus\.(?:istio\.)?io\//.test(name));
  return annotations[plain ?? names[0] ?? ""];
}

export function isMergedMetricsPort(annotations: Readonly<Record<string, string>>, statusPort: number): boolean {
  return metricsAnnotation(annotations, PORT) === String(statusPort);
}

export function withoutMetricsAnnotations(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => !MERGED.includes(metricsName(name))));
}
