import type { MeshFile, PortSpec } from "./mesh-file.ts";
import { type Call, isProxyless, type MeshPlan, type PlannedService, type Workload } from "./mesh-plan.ts";

/** Tells the workloads of one service apart; a Sidecar object is for exactly one of them. */
const WORKLOAD_LABEL = "pilot-agent.io/workload";

/** A Kubernetes style object, as the control plane reads it. */
export interface IstioObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: object;
}

/** The plan for the control plane: services with their endpoints, who listens where, and who must use mutual TLS. */
export function buildIstioObjects(
  plan: MeshPlan,
  mtls: MeshFile["mtls"],
  /** Workloads that are not to be called now: they start, or are about to end. */
  aside: ReadonlySet<string> = new Set(),
): readonly IstioObject[] {
  const object = (kind: string, name: string, spec: object, group = "networking"): IstioObject => ({
    apiVersion: `${group}.istio.io/v1`,
    kind,
    metadata: { name, namespace: plan.namespace },
    spec,
  });
  const mode = mtls.toUpperCase();
  const services = plan.services.filter(({ isGateway }) => !isGateway);
  const entries = services.filter(({ entry }) => entry);
  return [
    ...services.map((service) =>
      object(
        "ServiceEntry",
        service.name,
        serviceEntry(plan, service, ({ name }) => !aside.has(name)),
      ),
    ),
    ...services
      .filter(({ name }) => plan.workloads.some((workload) => workload.service === name && aside.has(workload.name)))
      .map((service) => object("ServiceEntry", `${service.name}-aside`, asideEntry(plan, service, aside))),
    ...(plan.isolation === "none"
      ? plan.workloads
          .filter((workload) => workload.kind === "sidecar" && !isProxyless(plan, workload))
          .map((workload) => object("Sidecar", workload.name, sidecar(plan, workload)))
      : []),
    object("PeerAuthentication", "default", { mtls: { mode } }, "security"),
    ...entries.map(({ name }) =>
      object(
        "PeerAuthentication",
        `entry-${name}`,
        { selector: { matchLabels: { app: name } }, mtls: { mode: "PERMISSIVE" } },
        "security",
      ),
    ),
  ];
}

/** A sidecar serves the ports of services that it is an endpoint of: one that stands aside is the endpoint of a service that is not visible. */
function asideEntry(plan: MeshPlan, service: PlannedService, aside: ReadonlySet<string>): object {
  const hidden = { ...service, hostname: `aside.${service.hostname}`, virtualAddress: undefined, endpoints: [] };
  return { ...serviceEntry(plan, hidden, ({ name }) => aside.has(name)), exportTo: ["~"] };
}

function serviceEntry(plan: MeshPlan, service: PlannedService, isChosen: (workload: Workload) => boolean): object {
  const { hostname, virtualAddress, ports, endpoints } = service;
  const all = plan.workloads.filter((workload) => workload.service === service.name);
  const hasName = endpoints.some(({ host }) => !/^[\d.]+$|:/.test(host));
  return {
    hosts: [hostname],
    ...(virtualAddress === undefined ? {} : { addresses: [virtualAddress] }),
    location: all.length > 0 || endpoints.length === 0 ? "MESH_INTERNAL" : "MESH_EXTERNAL",
    resolution: hasName ? "DNS" : "STATIC",
    ports: ports.map(portOf),
    endpoints: [
      ...all.filter(isChosen).map(({ address, serviceAccount, ...workload }) => ({
        address,
        serviceAccount,
        labels: workloadLabels(workload),
      })),
      // Without an account: no program there speaks mutual TLS.
      ...endpoints.map(({ host, ports: there, labels }) => ({
        address: host,
        ports: there,
        ...(Object.keys(labels).length === 0 ? {} : { labels }),
      })),
    ],
  };
}

/** Labels of the endpoint and of the node, which must agree. */
export function workloadLabels(workload: Pick<Workload, "name" | "labels">): Readonly<Record<string, string>> {
  // The second is how metrics call it.
  return { ...workload.labels, [WORKLOAD_LABEL]: workload.name, "service.istio.io/workload-name": workload.name };
}

function portOf({ name, port, protocol }: PortSpec) {
  return { number: port, name, protocol: protocol.toUpperCase() };
}

/** Without capture: the sidecar binds an address of its own for its application and one for every service that is called. */
function sidecar(plan: MeshPlan, workload: Workload): object {
  const { app } = workload;
  const egress = workload.calls.flatMap((call) => egressListeners(plan, call));
  return {
    workloadSelector: { labels: { [WORKLOAD_LABEL]: workload.name } },
    ...(app === undefined
      ? {}
      : {
          ingress: workload.listens.map((listens) => ({
            port: portOf(listens),
            bind: workload.address,
            captureMode: "NONE",
            defaultEndpoint: `${app.host}:${listens.appPort}`,
          })),
        }),
    egress: egress.length > 0 ? egress : [{ hosts: ["~/*"] }],
  };
}

function egressListeners(plan: MeshPlan, call: Call): readonly object[] {
  return call.ports.map((port) => ({
    port: portOf(port),
    bind: call.host,
    captureMode: "NONE",
    hosts: [`./${call.service}.${plan.namespace}.svc.cluster.local`],
  }));
}
