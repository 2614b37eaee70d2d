/** Of the answer of /v1/health/service/NAME: the members that are read. */
export interface HealthEntry {
  readonly Node: { readonly Node: string; readonly Address: string; readonly Datacenter?: string };
  readonly Service: {
    readonly ID: string;
    readonly Service: string;
    readonly Kind?: string;
    readonly Tags?: readonly string[] | null;
    readonly Address?: string;
    readonly Meta?: Readonly<Record<string, string>> | null;
    readonly Port: number;
    readonly Weights?: { readonly Passing?: number; readonly Warning?: number };
    readonly Namespace?: string;
  };
  readonly Checks?: readonly { readonly Status: string }[] | null;
}

/** Of /v1/health/state/any. */
export interface HealthCheck {
  readonly Node: string;
  readonly CheckID: string;
  readonly Status: string;
  readonly ServiceName?: string;
  readonly Namespace?: string;
  readonly ModifyIndex?: number;
}

/** Of /v1/catalog/nodes. */
export interface NodeEntry {
  readonly Node: string;
  readonly Address: string;
}

/** Of /v1/kv/PREFIX?recurse. */
export interface KeyEntry {
  readonly Key: string;
  /** Base64; null for a key without value. */
  readonly Value: string | null;
  readonly ModifyIndex: number;
}

export type InstanceHealth = "passing" | "warning" | "critical";

/** One place where a service runs: what is held of a HealthEntry. */
export interface ConsulInstance {
  readonly id: string;
  readonly node: string;
  readonly datacenter: string;
  readonly address: string;
  readonly port: number;
  readonly tags: readonly string[];
  readonly meta: Readonly<Record<string, string>>;
  /** For the health it has; 1 where Consul has none. */
  readonly weight: number;
  readonly health: InstanceHealth;
}

/** Sidecars and gateways of Consul's own mesh are not services that somebody calls. */
const OWN_KINDS = new Set(["connect-proxy", "mesh-gateway", "terminating-gateway", "ingress-gateway", "api-gateway"]);

/** Undefined for what is not an instance of a service. */
export function toInstance({ Node, Service, Checks }: HealthEntry, datacenter: string): ConsulInstance | undefined {
  if (OWN_KINDS.has(Service.Kind ?? "")) return undefined;
  const health = worstOf((Checks ?? []).map(({ Status }) => Status));
  const weight = health === "warning" ? Service.Weights?.Warning : Service.Weights?.Passing;
  return {
    id: Service.ID,
    node: Node.Node,
    datacenter: Node.Datacenter || datacenter,
    address: Service.Address || Node.Address,
    port: Service.Port,
    tags: Service.Tags ?? [],
    meta: Service.Meta ?? {},
    weight: weight ?? 1,
    health,
  };
}

/** An instance without checks passes. Maintenance is a check that is critical. */
function worstOf(states: readonly string[]): InstanceHealth {
  if (states.some((state) => state !== "passing" && state !== "warning")) return "critical";
  return states.includes("warning") ? "warning" : "passing";
}
