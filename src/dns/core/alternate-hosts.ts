import type { NameInfo } from "../../protocol/dns/name-table-message.ts";

export const KUBERNETES_REGISTRY = "Kubernetes";

/** Whose questions are answered: decides which short forms of a service name exist. */
export interface ProxyScope {
  readonly namespace: string;
  /** Without the namespace in front, e.g. "svc.cluster.local"; empty turns short names off. */
  readonly domain: string;
}

/** The scope of a proxy from its namespace and its DNS domain as given ("ns1.svc.cluster.local"). */
export function proxyScope(namespace: string, dnsDomain: string): ProxyScope {
  const labels = dnsDomain.split(".");
  return { namespace, domain: (labels[0] === namespace ? labels.slice(1) : labels).join(".") };
}

/** All names under which a table entry is served, each once and with its final dot, the entry's own name first. */
export function alternateHosts(host: string, info: NameInfo, scope: ProxyScope, withAltHosts: boolean): string[] {
  const ownName = withoutDot(host);
  const names = [`${ownName}.`];
  if (info.registry !== KUBERNETES_REGISTRY || !isBelow(ownName, scope.domain)) return names;
  const { shortname = "", namespace = "" } = info;
  if (shortname !== "" && namespace !== "") {
    const [firstLabel = ""] = scope.domain.split(".", 1);
    names.push(`${shortname}.${namespace}.`);
    if (namespace === scope.namespace) names.push(`${shortname}.`);
    names.push(`${shortname}.${namespace}.${firstLabel}.`);
  }
  if (withAltHosts) for (const altHost of info.altHosts ?? []) names.push(`${withoutDot(altHost)}.`);
  return [...new Set(names)];
}

/** Only services of the proxy's own cluster domain have short names; another cluster's would shadow local ones. */
function isBelow(host: string, domain: string): boolean {
  return domain !== "" && host.toLowerCase().endsWith(`.${domain.toLowerCase()}`);
}

function withoutDot(host: string): string {
  return host.endsWith(".") ? host.slice(0, -1) : host;
}
