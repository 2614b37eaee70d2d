import type { SidecarEgress } from "../../istio-api/specs/sidecar.ts";
import { hostCovers, hostsOverlap } from "../../istio-api/values/hostname.ts";
import { parseProtocol } from "../../istio-api/values/protocol.ts";
import { chooseByHost, type ServiceIndex } from "../indexes/service-index.ts";
import type { EgressListener, VirtualServiceRule } from "../push-snapshot.ts";
import type { Service } from "../service.ts";

/** What one egress listener of a Sidecar object lets through to a proxy of the namespace. */
export function buildEgressListener(
  { port, bind, captureMode, hosts }: SidecarEgress,
  namespace: string,
  index: ServiceIndex,
  visibleRules: readonly VirtualServiceRule[],
): EgressListener {
  const entries = hosts.map((entry) => parseEgressHost(entry, namespace));
  const wanted = entries.filter(({ isExcluded }) => !isExcluded);
  const unwanted = entries.filter(({ isExcluded }) => isExcluded);
  const excludes = (owner: string, name: string) =>
    unwanted.some(({ isFrom, host }) => isFrom(owner) && hostCovers(host, name));
  const imports = ({ hostname, namespace: owner }: Service) =>
    wanted.some(({ isFrom, host }) => isFrom(owner) && hostCovers(host, hostname)) && !excludes(owner, hostname);
  const imported = index.visibleTo(namespace).all.filter(imports);
  // A unix socket has no port (0), and a proxy is asked for any: they show services with all of theirs.
  const isAny = port === undefined || port.number === 0 || parseProtocol(port.protocol) === "HTTP_PROXY";
  const ofPort = (service: Service) => (isAny ? service : index.withPorts(service, [port.number]));
  const withPort = imported.flatMap((service) => ofPort(service) ?? []);
  const virtualServices = visibleRules.filter(({ object, hosts: ruled }) =>
    wanted.some(
      ({ isFrom, host }) =>
        isFrom(object.namespace) && ruled.some((name) => hostsOverlap(host, name) && !excludes(object.namespace, name)),
    ),
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
  readonly isExcluded: boolean;
}

/** `namespace/host`; the namespace may be `*` (any) or `.` (the proxy's own). After a `~` it is what is not wanted, alone for any. */
function parseEgressHost(entry: string, own: string): EgressHost {
  const slash = entry.indexOf("/");
  const named = slash === -1 ? "*" : entry.slice(0, slash);
  const isExcluded = named.startsWith("~");
  const where = (isExcluded ? named.slice(1) : named) || "*";
  const from = where === "." ? own : where;
  return { isFrom: (namespace) => from === "*" || from === namespace, host: entry.slice(slash + 1), isExcluded };
}
