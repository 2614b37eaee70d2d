import type { Report } from "./report.ts";

type Labels = Readonly<Record<string, string>>;

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const PREFIX = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** Keys as Kubernetes allows them; values may be longer than there. */
export function validateLabels(report: Report, labels: Labels): void {
  for (const [key, value] of Object.entries(labels)) {
    report.error(isKey(key) ? undefined : `invalid tag key: ${JSON.stringify(key)}`, key);
    const isValue = value === "" || NAME.test(value);
    report.error(isValue ? undefined : `invalid tag value: ${JSON.stringify(value)}`, key);
  }
}

/** Selectors compare exactly; a star in one is a misunderstanding. */
export function validateSelector(report: Report, labels: Labels): void {
  for (const [key, value] of Object.entries(labels)) {
    report.error(key === "" ? "empty key is not supported in selector" : undefined, key);
    report.error(
      key.includes("*") || value.includes("*") ? `wildcard is not supported in selector: ${key}: ${value}` : undefined,
      key,
    );
  }
}

function isKey(key: string): boolean {
  const slash = key.indexOf("/");
  const name = key.slice(slash + 1);
  if (slash !== -1 && (slash > 253 || !PREFIX.test(key.slice(0, slash)))) return false;
  return name.length <= 63 && NAME.test(name);
}
