import { deepFreeze } from "../../../base/deep-freeze.ts";
import type { ConsulInstance } from "../../../consul/index.ts";
import { type Protocol, parseProtocol } from "../../../istio-api/values/protocol.ts";
import { type Endpoint, TLS_MODE_LABEL } from "../../../mesh-model/endpoint.ts";
import { type ServicePort, serviceKey } from "../../../mesh-model/service.ts";
import { formatSpiffe } from "../../../mesh-model/workload-identity.ts";
import type { EndpointOrigin } from "../convert-workload.ts";
import type { ServiceWithEndpoints } from "../registry-state.ts";

/** What users write into a service's metadata, read from its instances. */
const CONSUL_META = {
  protocol: "protocol",
  external: "external",
  namespace: "namespace",
  serviceAccount: "service-account",
} as const;

export interface ConvertedConsul extends ServiceWithEndpoints {
  /** What was left out or chosen, one sentence each. */
  readonly warnings: readonly string[];
}

const DEFAULT = "default";

/** All instances of one name, of every datacenter, as one service. Undefined without instances. */
export function convertConsulService(
  name: string,
  instances: readonly ConsulInstance[],
  origin: EndpointOrigin,
): ConvertedConsul | undefined {
  const [first] = instances;
  if (first === undefined) return undefined;
  const warnings: string[] = [];
  const namespace = first.meta[CONSUL_META.namespace] || DEFAULT;
  const isExternal = instances.some(({ meta }) => Boolean(meta[CONSUL_META.external]));
  const ports = portsOf(name, instances, warnings);
  const base = {
    hostname: `${name}.service.consul`,
    name,
    namespace,
    provider: "Consul",
    clusterId: origin.clusterId,
  } as const;
  const service = {
    ...base,
    key: serviceKey(base),
    ports: [...ports.values()],
    addresses: [],
    resolution: isExternal ? "Passthrough" : "ClientSideLB",
    meshExternal: isExternal,
    subjectAltNames: [],
    creationTime: 0,
    labels: {},
    exportTo: [],
  } as const;
  const endpoints = instances.map((instance) => {
    const portName = ports.get(instance.port)?.name ?? "";
    return toEndpoint({ ...instance, namespace, portName }, origin, warnings);
  });
  return { ...deepFreeze({ service, endpoints }), warnings: [...new Set(warnings)] };
}

/** One port for each number that instances use; of several protocols of a number the first counts. */
function portsOf(
  name: string,
  instances: readonly ConsulInstance[],
  warnings: string[],
): ReadonlyMap<number, ServicePort> {
  const ports = new Map<number, ServicePort>();
  const taken = new Set<string>();
  for (const { port, meta } of instances) {
    const word = meta[CONSUL_META.protocol] || "tcp";
    const protocol = protocolOf(word, warnings);
    const known = ports.get(port);
    if (known === undefined) {
      // Two numbers of one protocol: port names are unique within a service.
      const portName = taken.has(word) ? `${word}-${port}` : word;
      taken.add(portName);
      ports.set(port, { name: portName, port, protocol });
    } else if (known.protocol !== protocol) {
      warnings.push(`${name} has port ${port} with protocols ${known.protocol} and ${protocol}; the first one counts`);
    }
  }
  return ports;
}

function protocolOf(word: string, warnings: string[]): Protocol {
  const protocol = parseProtocol(word);
  if (protocol !== "Unsupported") return protocol;
  warnings.push(`protocol ${JSON.stringify(word)} is unknown and taken for TCP`);
  return "TCP";
}

interface NamedInstance extends ConsulInstance {
  readonly namespace: string;
  readonly portName: string;
}

function toEndpoint(instance: NamedInstance, { trustDomain, clusterId }: EndpointOrigin, warnings: string[]): Endpoint {
  const { address, port, portName, namespace, meta, datacenter, health, weight, node, id } = instance;
  const labels = labelsOf(instance.tags, warnings);
  const serviceAccount = meta[CONSUL_META.serviceAccount] || DEFAULT;
  return {
    addresses: [address],
    servicePortName: portName,
    port,
    labels,
    serviceAccount: formatSpiffe({ trustDomain, namespace, serviceAccount }),
    network: "",
    locality: { region: datacenter, zone: "", subzone: "" },
    clusterId,
    weight,
    tlsMode: labels[TLS_MODE_LABEL] === "istio" ? "istio" : "disabled",
    namespace,
    workloadName: id,
    nodeName: node,
    health: health === "critical" ? "UnHealthy" : "Healthy",
  };
}

/** `key|value`; other tags mean something to somebody else. */
function labelsOf(tags: readonly string[], warnings: string[]): Readonly<Record<string, string>> {
  const pairs = tags.flatMap((tag) => {
    const at = tag.indexOf("|");
    if (at > 0) return [[tag.slice(0, at), tag.slice(at + 1)] as const];
    warnings.push(`tag ${JSON.stringify(tag)} is not a label, which has the form key|value`);
    return [];
  });
  return Object.fromEntries(pairs);
}
