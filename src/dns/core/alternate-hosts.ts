import type { NameInfo } from "../../xds/name-table.ts";

export const KUBERNETES_REGISTRY = "Kubernetes";

/** Whose questions are answered: decides which short forms of a service name exist. */
export interface ProxyScope {
  readonly namespace: string;
  /** What hosts of the proxy's own cluster end with, e.g. ".svc.cluster.local"; empty turns short names off. */
  readonly hostSuffix: string;
  /** The first label of the cluster domain, normally "svc". */
  readonly firstLabel: string;
}

/** The scope of a proxy from its namespace and its DNS domain as given ("ns1.svc.cluster.local"). */
export function proxyScope(namespace: string, dnsDomain: string): ProxyScope {
  const labels = dnsDomain.toLowerCase().split(".");
  const domain = labels[0] === namespace.toLowerCase() ? labels.slice(1) : labels;
  const [firstLabel = ""] = domain;
  return { namespace, hostSuffix: firstLabel === "" ? "" : `.${domain.join(".")}`, firstLabel };
}

/** All names under which a table entry is served, with their final dot, the entry's own name first. */
export function alternateHosts(host: string, info: NameInfo, scope: ProxyScope, withAltHosts: boolean): string[] {
  const ownName = withDot(host);
  if (info.registry !== KUBERNETES_REGISTRY || !isOfCluster(ownName, scope)) return [ownName];
  const names = [ownName];
  const { shortname = "", namespace = "", altHosts } = info;
  if (shortname !== "" && namespace !== "") {
    const short = `${shortname}.${namespace}.`;
    names.push(short, `${short}${scope.firstLabel}.`);
    if (namespace === scope.namespace) names.push(`${shortname}.`);
  }
  if (withAltHosts && altHosts !== undefined) for (const altHost of altHosts) names.push(withDot(altHost));
  return names;
}

/** Only services of the proxy's own cluster have short names; another cluster's would shadow local ones. */
function isOfCluster(ownName: string, { hostSuffix }: ProxyScope): boolean {
  if (hostSuffix === "") return false;
  return ownName.slice(-hostSuffix.length - 1, -1).toLowerCase() === hostSuffix;
}

function withDot(host: string): string {
  return host.endsWith(".") ? host : `${host}.`;
}
