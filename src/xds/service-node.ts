import { CodedError } from "../base/coded-error.ts";
import { quoteGo } from "../base/go-quote.ts";
import { isIP } from "../net/ip.ts";

export const PROXY_TYPES = ["sidecar", "router", "waypoint", "ztunnel", "agentgateway"] as const;

export type ProxyType = (typeof PROXY_TYPES)[number];

export class ServiceNodeError extends CodedError<"missing-parts" | "invalid-type" | "no-address"> {}

export interface ServiceNodeParts {
  readonly type: string;
  readonly ip: string;
  readonly id: string;
  readonly dnsDomain: string;
}

/** The node string a proxy introduces itself with. */
export function formatServiceNode({ type, ip, id, dnsDomain }: ServiceNodeParts): string {
  return [type, ip, id, dnsDomain].join("~");
}

export interface ConnectedProxy {
  readonly type: ProxyType;
  readonly ipAddresses: readonly string[];
  readonly id: string;
  readonly dnsDomain: string;
  readonly configNamespace: string;
}

export interface ServiceNodeMetadata {
  /** Comma separated. */
  readonly INSTANCE_IPS?: string;
  readonly NAMESPACE?: string;
}

/** What a control plane learns from a node string and the metadata beside it. */
export function parseServiceNode(node: string, metadata: ServiceNodeMetadata): ConnectedProxy {
  const parts = node.split("~");
  const [typeWord, ip, id, dnsDomain] = parts;
  if (parts.length !== 4 || ip === undefined || id === undefined || dnsDomain === undefined) {
    throw new ServiceNodeError("missing-parts", `missing parts in the service node ${quoteGo(node)}`);
  }
  const type = PROXY_TYPES.find((known) => known === typeWord);
  if (type === undefined) throw new ServiceNodeError("invalid-type", `invalid proxy Type: ${typeWord}`);
  const listed = (metadata.INSTANCE_IPS ?? "").split(",").filter((address) => address !== "");
  const ipAddresses = listed.length > 0 && listed.every(isIP) ? listed : [ip].filter(isIP);
  if (ipAddresses.length === 0) {
    throw new ServiceNodeError("no-address", "no valid IP address in the service node id or metadata");
  }
  return { type, ipAddresses, id, dnsDomain, configNamespace: configNamespace(metadata, dnsDomain) };
}

/** Old proxies send no namespace; the domain of a Kubernetes pod begins with it. */
function configNamespace(metadata: ServiceNodeMetadata, dnsDomain: string): string {
  if (metadata.NAMESPACE !== undefined && metadata.NAMESPACE !== "") return metadata.NAMESPACE;
  const labels = dnsDomain.split(".");
  return labels.length > 1 ? (labels[0] ?? "") : "";
}
