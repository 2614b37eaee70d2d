import type { ServerTls, SidecarIngress } from "../../istio-api/specs.ts";
import { type Protocol, parseProtocol } from "../../istio-api/values/protocol.ts";
import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import type { ObjectName, Service } from "../../mesh-model/service.ts";
import { hasFamily, listenerName } from "./addresses.ts";
import { isReservedPort, type ListenerConflict } from "./listener-conflict.ts";

/** One port of the workload. */
export interface ServedPort {
  /** Where connections go to; the inbound cluster has it in its name. */
  readonly targetPort: number;
  /** How clients call it. */
  readonly servicePort: number;
  readonly protocol: Protocol;
  /** Host of the service, or the Sidecar object; for names and reports. */
  readonly owner: string;
  /** What says so. */
  readonly of: Service | ObjectName | undefined;
  /** The proxy listens there itself instead of having connections redirected to it. */
  readonly bind?: string;
  readonly tls?: ServerTls;
}

interface ServedPorts {
  readonly ports: readonly ServedPort[];
  readonly conflicts: readonly ListenerConflict[];
}

/** By target port, ascending. Ingress listeners of a Sidecar object replace what follows from the services. */
export function servedPorts(view: ProxyView): ServedPorts {
  const { ports, conflicts } = view.inbound.ingress.length > 0 ? ingressPorts(view) : serviceTargets(view);
  return { ports: ports.toSorted((a, b) => a.targetPort - b.targetPort), conflicts };
}

/** Without interception nothing is redirected, and binding the application's own port would keep it from starting. */
function serviceTargets(view: ProxyView): ServedPorts {
  const { node, inbound } = view;
  const byPort = new Map<number, ServedPort>();
  const conflicts: ListenerConflict[] = [];
  if (node.interception === "NONE") return { ports: [], conflicts };
  for (const { service, port, targetPort } of inbound.targets) {
    if (port.protocol === "UDP") continue;
    const known = byPort.get(targetPort);
    const served = {
      targetPort,
      servicePort: port.port,
      protocol: port.protocol,
      owner: service.hostname,
      of: service,
    };
    const listener = listenerName("0.0.0.0", targetPort);
    const kind = known === undefined ? unusable(view, served) : undefined;
    if (kind !== undefined) conflicts.push({ kind, listener, winner: "", dropped: served.owner });
    else if (known === undefined) byPort.set(targetPort, served);
    // Several services may well share a port; only what they say about it can contradict.
    else if (known.protocol !== served.protocol || known.servicePort !== served.servicePort) {
      conflicts.push({ kind: "inbound-port", listener, winner: known.owner, dropped: served.owner });
    }
  }
  return { ports: [...byPort.values()], conflicts };
}

function ingressPorts(view: ProxyView): ServedPorts {
  const { sidecar, ingress } = view.inbound;
  const owner = sidecar === undefined ? "" : `${sidecar.namespace}/${sidecar.name}`;
  const taken = new Set<string>();
  const ports: ServedPort[] = [];
  const conflicts: ListenerConflict[] = [];
  for (const listener of ingress) {
    const served = ingressPort(view, listener, { owner, of: sidecar });
    if (served === undefined) continue;
    const name = listenerName(served.bind ?? "", served.targetPort);
    const kind = taken.has(name) ? "inbound-port" : unusable(view, served);
    taken.add(name);
    if (kind === undefined) ports.push(served);
    else conflicts.push({ kind, listener: name, winner: kind === "inbound-port" ? owner : "", dropped: owner });
  }
  return { ports, conflicts };
}

function ingressPort(
  { node }: ProxyView,
  listener: SidecarIngress,
  owner: Pick<ServedPort, "owner" | "of">,
): ServedPort | undefined {
  const { port, bind, captureMode, tls } = listener;
  if (port === undefined) return undefined;
  const protocol = parseProtocol(port.protocol);
  if (protocol === "UDP") return undefined;
  const isBound = node.interception === "NONE" || captureMode === "NONE";
  const own = node.addresses.find((address) => hasFamily(address, node)) ?? "0.0.0.0";
  return {
    targetPort: port.number,
    servicePort: port.number,
    protocol,
    ...owner,
    ...(isBound && { bind: bind === "" ? own : bind }),
    ...(tls !== undefined && { tls }),
  };
}

function unusable(
  { node, snapshot }: ProxyView,
  { bind, targetPort }: ServedPort,
): ListenerConflict["kind"] | undefined {
  const { mesh } = snapshot;
  if (bind === undefined) {
    const isOwn = targetPort === mesh.proxyInboundListenPort || targetPort === mesh.proxyListenPort;
    return isOwn ? "reserved-port" : undefined;
  }
  if (isReservedPort(mesh, node.listening, targetPort)) return "reserved-port";
  return node.unprivileged && targetPort < 1024 ? "privileged-port" : undefined;
}
