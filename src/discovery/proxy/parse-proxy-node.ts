import { isIP } from "node:net";
import { CodedError } from "../../base/coded-error.ts";
import { quoteGo } from "../../protocol/go-quote.ts";
import { type Locality, parseLocality } from "../model/locality.ts";
import type { InterceptionMode, NodeTlsFiles, ProxyNode } from "./proxy-node.ts";

/** A node that cannot be served; the message is for its operator. */
export class ProxyNodeError extends CodedError<"missing-parts" | "invalid-type" | "no-address"> {}

/** envoy.config.core.v3.Node, as far as it is read, in JSON form. */
export interface NodeDescription {
  readonly id: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly locality?: { readonly region?: string; readonly zone?: string; readonly subZone?: string };
}

const TYPES = ["sidecar", "router"] as const;
const MODES: readonly InterceptionMode[] = ["REDIRECT", "TPROXY", "NONE"];
const LOCALITY_LABELS = ["topology.istio.io/locality", "istio-locality"];

/** What a proxy says of itself. `clusterAliases` gives cluster names their other names. Throws a ProxyNodeError. */
export function parseProxyNode(
  node: NodeDescription,
  clusterAliases: ReadonlyMap<string, string> = new Map(),
): ProxyNode {
  const { metadata } = node;
  const parts = node.id.split("~");
  const [typeWord, ip = "", id = "", dnsDomain = ""] = parts;
  if (parts.length !== 4) {
    throw new ProxyNodeError("missing-parts", `missing parts in the service node ${quoteGo(node.id)}`);
  }
  const type = TYPES.find((known) => known === typeWord);
  if (type === undefined) {
    const reason = `invalid node type (valid types: ${TYPES.join(", ")}) in the service node ${quoteGo(node.id)}`;
    throw new ProxyNodeError("invalid-type", reason);
  }
  const addresses = addressesOf(textOf(metadata.INSTANCE_IPS), ip);
  if (addresses.length === 0) {
    throw new ProxyNodeError("no-address", "no valid IP address in the service node id or metadata");
  }
  const labels = labelsOf(metadata.LABELS);
  const clusterId = textOf(metadata.CLUSTER_ID);
  const clientTls = tlsFiles(metadata, "TLS_CLIENT");
  const serverTls = tlsFiles(metadata, "TLS_SERVER");
  return Object.freeze({
    nodeId: node.id,
    type,
    id,
    addresses,
    ipv4: addresses.some((address) => isIP(address) === 4),
    ipv6: addresses.some((address) => isIP(address) === 6),
    dnsDomain,
    namespace: textOf(metadata.NAMESPACE) || namespaceOf(dnsDomain),
    serviceAccount: textOf(metadata.SERVICE_ACCOUNT),
    labels,
    locality: localityOf(node.locality, labels),
    clusterId: clusterAliases.get(clusterId) ?? clusterId,
    network: textOf(metadata.NETWORK),
    interception: MODES.find((mode) => mode === metadata.INTERCEPTION_MODE) ?? "REDIRECT",
    generator: textOf(metadata.GENERATOR),
    dnsCapture: isTrue(metadata.DNS_CAPTURE),
    dnsAutoAllocate: isTrue(metadata.DNS_AUTO_ALLOCATE),
    httpProxyPort: portOf(metadata.HTTP_PROXY_PORT),
    unprivileged: isTrue(metadata.UNPRIVILEGED_POD),
    ...(clientTls === undefined ? {} : { clientTls }),
    ...(serverTls === undefined ? {} : { serverTls }),
    istioVersion: textOf(metadata.ISTIO_VERSION),
    metadata,
  });
}

/** The metadata counts only as a whole: a list with one bad entry was not written by an agent. */
function addressesOf(listed: string, ip: string): readonly string[] {
  const all = listed.split(",").filter((address) => address !== "");
  const valid = all.length > 0 && all.every((address) => isIP(address) !== 0) ? all : [ip];
  return Object.freeze(valid.filter((address) => isIP(address) !== 0));
}

/** Old proxies send no namespace; the domain of a Kubernetes pod begins with it. */
function namespaceOf(dnsDomain: string): string {
  const [first = "", ...rest] = dnsDomain.split(".");
  return rest.length > 0 ? first : "";
}

function localityOf(given: NodeDescription["locality"], labels: Readonly<Record<string, string>>): Locality {
  if ((given?.region ?? "") !== "") {
    return { region: given?.region ?? "", zone: given?.zone ?? "", subzone: given?.subZone ?? "" };
  }
  const label = LOCALITY_LABELS.map((name) => labels[name] ?? "").find((value) => value !== "") ?? "";
  // A label value may hold no slash, so dots stand for them.
  return parseLocality(label.includes("/") ? label : label.replaceAll(".", "/"));
}

function labelsOf(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return Object.freeze({});
  const entries = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return Object.freeze(Object.fromEntries(entries));
}

function tlsFiles(
  metadata: NodeDescription["metadata"],
  prefix: "TLS_CLIENT" | "TLS_SERVER",
): NodeTlsFiles | undefined {
  const certificateChain = textOf(metadata[`${prefix}_CERT_CHAIN`]);
  const privateKey = textOf(metadata[`${prefix}_KEY`]);
  const rootCertificate = textOf(metadata[`${prefix}_ROOT_CERT`]);
  if (certificateChain === "" && privateKey === "" && rootCertificate === "") return undefined;
  return { certificateChain, privateKey, rootCertificate };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Agents send flags as text. */
function isTrue(value: unknown): boolean {
  return value === true || (typeof value === "string" && /^(1|t|true)$/i.test(value));
}

function portOf(value: unknown): number {
  const port = typeof value === "number" ? value : Number(textOf(value));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : 0;
}
