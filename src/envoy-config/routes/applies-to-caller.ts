import type { HttpMatch } from "../../istio-api/specs/virtual-service.ts";

/** Who sends the requests: a match may ask for some callers only. */
export interface Caller {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The gateway that the requests come to, as `namespace/name`; sidecars have none. */
  readonly gateway?: string;
}

/** The gateway name that stands for every sidecar. */
export const MESH_GATEWAY = "mesh";

/** Conditions that are known before any request comes. Gateways given, source labels and namespace count for nothing. */
export function appliesToCaller(match: HttpMatch | undefined, caller: Caller, port: number): boolean {
  if (match === undefined) return true;
  if (match.port !== 0 && match.port !== port) return false;
  if (match.gateways.length > 0) return match.gateways.includes(caller.gateway ?? MESH_GATEWAY);
  const hasLabels = Object.entries(match.sourceLabels).every(([name, value]) => caller.labels[name] === value);
  return hasLabels && (match.sourceNamespace === "" || match.sourceNamespace === caller.namespace);
}
