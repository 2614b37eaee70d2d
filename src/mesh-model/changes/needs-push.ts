import type { Kind } from "../../istio-api/specs/kinds.ts";
import type { XdsType } from "../../xds/xds-types.ts";

/** What can differ between two snapshots. `ServiceEntry` stands for services of every registry. */
export type ChangedKind = Kind | "Endpoints" | "MeshConfig";

/** Rules for the server's side alone. */
const ACCESS = ["AuthorizationPolicy", "RequestAuthentication"] as const;
const WORKLOADS = ["WorkloadEntry", "WorkloadGroup"] as const;

/** Kinds that cannot change resources of a type. */
const SKIPPED: Readonly<Record<"CDS" | "EDS" | "LDS" | "RDS" | "NDS", readonly ChangedKind[]>> = {
  CDS: ["Gateway", ...WORKLOADS, ...ACCESS, "Telemetry", "ProxyConfig", "Endpoints"],
  EDS: ["Gateway", "VirtualService", "WorkloadGroup", ...ACCESS, "Telemetry", "ProxyConfig", "Sidecar"],
  LDS: [...WORKLOADS, "ProxyConfig", "Endpoints"],
  RDS: [...WORKLOADS, ...ACCESS, "PeerAuthentication", "Telemetry", "ProxyConfig", "Endpoints"],
  NDS: [
    "Gateway",
    "VirtualService",
    "DestinationRule",
    "Telemetry",
    "EnvoyFilter",
    ...WORKLOADS,
    ...ACCESS,
    "PeerAuthentication",
    "ProxyConfig",
    "MeshConfig",
    "Endpoints",
  ],
};

/** Some of the changed kinds can make a difference to resources of the type. */
export function needsPush(
  type: XdsType,
  changed: Iterable<ChangedKind>,
  proxyType: "sidecar" | "router" = "sidecar",
): boolean {
  for (const kind of changed) if (canChange(type, kind, proxyType)) return true;
  return false;
}

function canChange(type: XdsType, kind: ChangedKind, proxyType: "sidecar" | "router"): boolean {
  // Trust bundles follow from settings alone.
  if (type === "PCDS") return kind === "MeshConfig";
  if (type === "ECDS") return kind === "EnvoyFilter";
  if (kind === (proxyType === "sidecar" ? "Gateway" : "Sidecar")) return false;
  // A gateway that passes TLS on has clusters of its own.
  if (type === "CDS" && kind === "Gateway") return true;
  return !SKIPPED[type].includes(kind);
}
