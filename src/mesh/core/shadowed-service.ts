import type { MeshPlan } from "./mesh-plan.ts";

/** Kinds that say something about workloads of their own namespace, or of all in the root namespace. */
export const WORKLOAD_POLICIES: ReadonlySet<string> = new Set([
  "AuthorizationPolicy",
  "EnvoyFilter",
  "PeerAuthentication",
  "ProxyConfig",
  "RequestAuthentication",
  "Sidecar",
  "Telemetry",
  "WasmPlugin",
]);

/**
 * The service of the mesh file whose place a ServiceEntry would take: by its host, or by its own name, as services of the file are
 * ServiceEntries for the control plane.
 */
export function shadowedService(
  { namespace, services }: Pick<MeshPlan, "namespace" | "services">,
  document: unknown,
): string | undefined {
  const { metadata = {}, spec = {} } = (document ?? {}) as {
    readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown } | null;
    readonly spec?: { readonly hosts?: unknown } | null;
  };
  const hosts: readonly unknown[] = Array.isArray(spec?.hosts) ? spec.hosts : [];
  const isOwnNamespace = (metadata?.namespace ?? namespace) === namespace;
  return services.find(({ name, hostname }) => {
    const forms = [name, `${name}.${namespace}`, `${name}.${namespace}.svc`, hostname];
    return (isOwnNamespace && metadata?.name === name) || hosts.some((host) => forms.includes(String(host)));
  })?.name;
}
