import type { PeerAuthenticationSpec } from "../specs/security.ts";
import { validateSelector } from "./labels.ts";
import type { Report } from "./report.ts";

/** Who must prove their identity to a workload. Ports belong to workloads, so that only a policy with a selector may name them. */
export function validatePeerAuthentication(report: Report, { selector, portLevelMtls }: PeerAuthenticationSpec): void {
  const labels = selector?.matchLabels ?? {};
  validateSelector(report.at("selector", "matchLabels"), labels);
  if (portLevelMtls === undefined) return;
  const ports = Object.keys(portLevelMtls);
  if (ports.length === 0) report.error("port level mTLS, if defined, must have at least one element", "portLevelMtls");
  if (ports.length > 0 && Object.keys(labels).length === 0) {
    report.error("mesh/namespace peer authentication cannot have port level mTLS", "portLevelMtls");
  }
  for (const port of ports) {
    const isPort = Number(port) >= 1 && Number(port) <= 65535;
    report.error(isPort ? undefined : `port must be in range 1..65535, found ${port}`, "portLevelMtls", port);
  }
}
