import type { ConfigObject } from "../config-object.ts";
import { validateSelector } from "./labels.ts";
import type { Report } from "./report.ts";

/** Who must prove their identity to a workload. Ports belong to workloads, so that only a policy with a selector may name them. */
export function validatePeerAuthentication(
  report: Report,
  { spec: { selector, portLevelMtls }, source }: ConfigObject<"PeerAuthentication">,
): void {
  const labels = selector?.matchLabels ?? {};
  validateSelector(report.at("selector", "matchLabels"), labels);
  const ports = Object.keys(portLevelMtls);
  if (ports.length === 0 && namesPorts(source.spec))
    report.error("port level mTLS, if defined, must have at least one element", "portLevelMtls");
  if (ports.length > 0 && Object.keys(labels).length === 0) {
    report.error("mesh/namespace peer authentication cannot have port level mTLS", "portLevelMtls");
  }
  for (const port of ports) {
    const isPort = Number(port) >= 1 && Number(port) <= 65535;
    report.error(isPort ? undefined : `port must be in range 1..65535, found ${port}`, "portLevelMtls", port);
  }
}

/** An empty map has no presence in a message: only the document says whether it is there. */
function namesPorts(spec: unknown): boolean {
  const { portLevelMtls, port_level_mtls: spelled = null } = (spec ?? {}) as Readonly<Record<string, unknown>>;
  return (portLevelMtls === undefined ? spelled : portLevelMtls) !== null;
}
