import type { MeshFile } from "./mesh-file.ts";
import type { Call, MeshPlan, PlannedService, Workload } from "./mesh-plan.ts";

/** Tells the workloads of one service apart; a Sidecar object is for exactly one of them. */
export const WORKLOAD_LABEL = "pilot-agent.io/workload";

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
  const entries = plan.services.filter(({ entry }) => entry);
  return [
    ...plan.services.map((service) =>
      object(
        "ServiceEntry",
        service.name,
        serviceEntry(plan, service, ({ name }) => !aside.has(name)),
      ),
    ),
    ...plan.services
      .filter(({ name }) => plan.workloads.some((workload) => workload.service === name && aside.has(workload.name)))
      .map((service) => object("ServiceEntry", `${service.name}-aside`, asideEntry(plan, service, aside))),
    ...(plan.isolation === "none" && !plan.proxyless
      ? plan.workloads.map((workload) => object("Sidecar", workload.name, sidecar(plan, workload)))
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
  const hidden = { ...service, hostname: `aside.${service.hostname}`, virtualAddress: undefined };
  return { ...serviceEntry(plan, hidden, ({ name }) => aside.has(name)), exportTo: ["~"] };
}

function serviceEntry(plan: MeshPlan, service: PlannedService, isChosen: (workload: Workload) => boolean): object {
  const { hostname, virtualAddress, endpoint } = service;
  const own = plan.workloads.filter((workload) => workload.service === service.name && isChosen(workload));
  const isName = endpoint !== undefined && !/^[\d.]+$|:/.test(endpoint.host);
  return {
    hosts: [hostname],
    ...(virtualAddress === undefined ? {} : { addresses: [virtualAddress] }),
    location: endpoint === undefined ? "MESH_INTERNAL" : "MESH_EXTERNAL",
    resolution: isName ? "DNS" : "STATIC",
    ports: [portOf(service)],
    endpoints:
      endpoint === undefined
        ? own.map(({ address, serviceAccount, ...workload }) => ({
            address,
            serviceAccount,
            labels: workloadLabels(workload),
          }))
        : [{ address: endpoint.host, ports: { [portOf(service).name]: endpoint.port } }],
  };
}

/** Labels of the endpoint and of the node, which must agree. */
export function workloadLabels(workload: Pick<Workload, "name" | "labels">): Readonly<Record<string, string>> {
  return { ...workload.labels, [WORKLOAD_LABEL]: workload.name };
}

function portOf({ port, protocol }: Pick<PlannedService, "port" | "protocol">) {
  return { number: port, name: protocol, protocol: protocol.toUpperCase() };
}

/** Without capture: the sidecar binds an address of its own for its application and one for every service that is called. */
function sidecar(plan: MeshPlan, workload: Workload): object {
  const service = plan.services.find(({ name }) => name === workload.service);
  const egress = workload.calls.map((call) => egressListener(plan, call));
  return {
    workloadSelector: { labels: { [WORKLOAD_LABEL]: workload.name } },
    ...(workload.app === undefined || service === undefined
      ? {}
      : {
          ingress: [
            {
              port: portOf(service),
              bind: workload.address,
              captureMode: "NONE",
              defaultEndpoint: `${workload.app.host}:${workload.app.port}`,
            },
          ],
        }),
    egress: egress.length > 0 ? egress : [{ hosts: ["~/*"] }],
  };
}

function egressListener(plan: MeshPlan, call: Call): object {
  return {
    port: portOf(call),
    bind: call.host,
    captureMode: "NONE",
    hosts: [`./${call.service}.${plan.namespace}.svc.cluster.local`],
  };
}
