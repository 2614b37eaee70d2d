import {
  fields,
  type KubernetesObject,
  labelsOf,
  listOf,
  numberOf,
  type ObjectMeta,
  textOf,
} from "../../../mesh-model/kubernetes-object.ts";

/** What the model needs of a Pod. */
export interface ReducedPod {
  readonly name: string;
  readonly namespace: string;
  /** The first is the primary one. */
  readonly addresses: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly serviceAccount: string;
  readonly nodeName: string;
  /** The controller above it, without the hash of a replica set. */
  readonly workloadName: string;
  /** Both are set for pods that have a name of their own under a headless service. */
  readonly hostName: string;
  readonly subDomain: string;
  /** Those with names, of the first container that has the name. */
  readonly ports: readonly NamedPort[];
  /** Ready, and not about to end. */
  readonly isUp: boolean;
}

export interface NamedPort {
  readonly name: string;
  readonly number: number;
  readonly transport: string;
}

/** Undefined for pods that have no address yet, and for those that have ended. */
export function reducePod({ metadata = {}, spec, status }: KubernetesObject): ReducedPod | undefined {
  const given = fields(spec);
  const state = fields(status);
  const addresses = podAddresses(state);
  if (addresses.length === 0 || state.phase === "Failed" || state.phase === "Succeeded") return undefined;
  const labels = labelsOf(metadata.labels);
  const subDomain = textOf(given.subdomain);
  const name = metadata.name ?? "";
  return {
    name,
    namespace: metadata.namespace ?? "",
    addresses,
    labels,
    serviceAccount: textOf(given.serviceAccountName) || "default",
    nodeName: textOf(given.nodeName),
    workloadName: workloadName(metadata, labels),
    hostName: subDomain === "" ? "" : textOf(given.hostname) || name,
    subDomain,
    ports: namedPorts(given),
    isUp: isReady(state) && metadata.deletionTimestamp === undefined,
  };
}

function podAddresses({ podIP, podIPs }: Readonly<Record<string, unknown>>): readonly string[] {
  const first = textOf(podIP);
  const all = listOf(podIPs).map(({ ip }) => textOf(ip));
  return [...new Set([first, ...all])].filter((address) => address !== "");
}

function namedPorts({ containers, initContainers }: Readonly<Record<string, unknown>>): readonly NamedPort[] {
  // An init container that is restarted for ever is a sidecar, and serves.
  const sidecars = listOf(initContainers).filter(({ restartPolicy }) => restartPolicy === "Always");
  const ports = new Map<string, NamedPort>();
  for (const container of [...listOf(containers), ...sidecars]) {
    for (const { name, containerPort, protocol } of listOf(container.ports)) {
      const port = { name: textOf(name), number: numberOf(containerPort), transport: textOf(protocol) || "TCP" };
      const key = `${port.transport} ${port.name}`;
      if (port.name !== "" && !ports.has(key)) ports.set(key, port);
    }
  }
  return [...ports.values()];
}

function isReady({ conditions }: Readonly<Record<string, unknown>>): boolean {
  return listOf(conditions).some(({ type, status }) => type === "Ready" && status === "True");
}

function workloadName({ name = "", ownerReferences }: ObjectMeta, labels: Readonly<Record<string, string>>): string {
  const label = labels["service.istio.io/workload-name"];
  if (label !== undefined) return label;
  const owner = listOf(ownerReferences).find(({ controller }) => controller === true);
  if (owner === undefined) return name;
  const hash = labels["pod-template-hash"] ?? labels["rollouts-pod-template-hash"] ?? "";
  const ownerName = textOf(owner.name);
  return owner.kind === "ReplicaSet" && hash !== "" && ownerName.endsWith(`-${hash}`)
    ? ownerName.slice(0, -hash.length - 1)
    : ownerName;
}
