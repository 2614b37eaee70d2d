import { isDnsLabel } from "../values/dns-name.ts";
import type { Report } from "./report.ts";

interface ExportRules {
  readonly namespace: string;
  readonly kind: "ServiceEntry" | "VirtualService" | "DestinationRule";
  /** Set on a DestinationRule for some workloads of its namespace. */
  readonly hasSelector?: boolean;
}

/** To whom an object may be shown. */
export function validateExportTo(parent: Report, exportTo: readonly string[], rules: ExportRules): void {
  const report = parent.at("exportTo");
  const seen = new Set<string>();
  exportTo.forEach((entry, index) => {
    // `.` and the own namespace by name are the same entry.
    const key = entry === rules.namespace ? "." : entry;
    report.error(seen.has(key) ? `duplicate entries in exportTo for entry ${entry}` : undefined, index);
    seen.add(key);
    report.error(entryReason(entry), index);
    if (rules.hasSelector && key !== ".") {
      report.error("destination rule with workload selector cannot have exportTo beyond current namespace", index);
    }
  });
  if (seen.has("*") && exportTo.length > 1) {
    report.error("cannot have both public (*) and non-public exportTo values for a resource");
  }
  if (!seen.has("~")) return;
  if (rules.kind !== "ServiceEntry") report.error("exportTo ~ (none) is not allowed for Istio configuration objects");
  else if (exportTo.length > 1) report.error("cannot export service entry to no one and someone");
}

function entryReason(entry: string): string | undefined {
  if (entry === "*" || entry === "." || entry === "~" || isDnsLabel(entry)) return undefined;
  return `only ., *, or a valid DNS 1123 label is allowed as exportTo entry, found ${JSON.stringify(entry)}`;
}
