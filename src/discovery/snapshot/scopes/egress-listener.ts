import { hostCovers, hostsOverlap } from "../../model/hostname.ts";
import type { Service } from "../../model/service.ts";
import type { SidecarEgress } from "../../specs/sidecar.ts";
import { chooseByHost, type ServiceIndex } from "../indexes/service-index.ts";
import type { EgressListener, VirtualServiceRule } from "../push-snapshot.ts";

/** What one egress listener of a Sidecar object lets through to a proxy of the namespace. */
export function buildEgressListener(
  { port, bind, captureMode, hosts }: SidecarEgress,
  namespace: string,
  index: ServiceIndex,
  visibleRules: readonly VirtualServiceRule[],
): EgressListener {
  const wanted = hosts.map((entry) => parseEgressHost(entry, namespace));
  const imports = ({ hostname, namespace: owner }: Service) =>
    wanted.some(({ isFrom, host }) => isFrom(owner) && hostCovers(host, hostname));
  const imported = index.visibleTo(namespace).all.filter(imports);
  // A unix socket has no port (0): it shows services with all of theirs.
  const ofPort = (service: Service) => (port?.number ? index.withPorts(service, [port.number]) : service);
  const withPort = imported.flatMap((service) => ofPort(service) ?? []);
  const virtualServices = visibleRules.filter(({ object, hosts: ruled }) =>
    wanted.some(({ isFrom, host }) => isFrom(object.namespace) && ruled.some((name) => hostsOverlap(host, name))),
  );
  return Object.freeze({
    ...(port !== undefined && { port }),
    bind,
    captureMode,
    services: chooseByHost(withPort, namespace).services,
    virtualServices: Object.freeze(virtualServices),
  });
}

interface EgressHost {
  readonly isFrom: (namespace: string) => boolean;
  readonly host: string;
}

/** `namespace/host`; the namespace may be `*` (any), `.` (the proxy's own) or `~` (none). */
function parseEgressHost(entry: string, own: string): EgressHost {
  const slash = entry.indexOf("/");
  const where = slash === -1 ? "*" : entry.slice(0, slash);
  const wanted = where === "." ? own : where;
  return { isFrom: (namespace) => wanted === "*" || wanted === namespace, host: entry.slice(slash + 1) };
}
