import { CodedError } from "../../base/coded-error.ts";
import { isJsonObject } from "../../base/json-object.ts";
import { TOPOLOGY } from "../../istio-api/values/topology-labels.ts";
import { ipModeOf } from "../../net/ip-mode.ts";
import { parseServiceNode, ServiceNodeError } from "../../xds/service-node.ts";
import { type Locality, labelledLocality, parseLocality } from "../locality.ts";
import { keepsHeaderCase } from "./header-case.ts";
import type { InterceptionMode, NodeTlsFiles, ProxyNode } from "./proxy-node.ts";
import { readListening } from "./read-listening.ts";

/** Why a node is refused; every code is an INVALID_ARGUMENT to the client. */
export class NodeError extends CodedError<"missing-node" | "missing-parts" | "invalid-type" | "no-address"> {}

/** The node of a discovery request; `metadata` is the decoded google.protobuf.Struct. Nothing but the id must be there. */
export interface XdsNode {
  readonly id?: string;
  readonly cluster?: string;
  readonly metadata?: unknown;
  readonly locality?: unknown;
}

/**
 * Throws a NodeError for a node that cannot be served. Metadata of wrong types count as absent. `clusterAliases` gives the names by which
 * clusters are known here.
 */
export function parseNode(node: XdsNode | undefined, clusterAliases?: ReadonlyMap<string, string>): ProxyNode {
  if (node === undefined || typeof node.id !== "string" || node.id === "") {
    throw new NodeError("missing-node", "missing node information");
  }
  const metadata = isJsonObject(node.metadata) ? node.metadata : {};
  const text = (name: string) => textOf(metadata[name]);
  const { type, ipAddresses, id, dnsDomain, configNamespace } = parseId(node.id, metadata);
  const labels = readLabels(metadata.LABELS);
  const clusterId = text("CLUSTER_ID");
  const mode = ipModeOf(ipAddresses);
  const clientTls = readTls(metadata, "CLIENT");
  const serverTls = readTls(metadata, "SERVER");
  const keepsCase = keepsHeaderCase(metadata.PROXY_CONFIG);
  return Object.freeze({
    nodeId: node.id,
    type,
    id,
    addresses: Object.freeze([...ipAddresses]),
    ipv4: mode !== "ipv6",
    ipv6: mode !== "ipv4",
    dnsDomain,
    namespace: configNamespace,
    serviceCluster: typeof node.cluster === "string" ? node.cluster : "",
    serviceAccount: text("SERVICE_ACCOUNT"),
    labels,
    locality: readLocality(node.locality, labels),
    clusterId: clusterAliases?.get(clusterId) ?? clusterId,
    network: text("NETWORK"),
    interception: readInterception(text("INTERCEPTION_MODE")),
    generator: text("GENERATOR"),
    dnsCapture: isTrue(metadata.DNS_CAPTURE),
    dnsAutoAllocate: isTrue(metadata.DNS_AUTO_ALLOCATE),
    httpProxyPort: readPort(text("HTTP_PROXY_PORT")),
    unprivileged: isTrue(metadata.UNPRIVILEGED_POD),
    listening: readListening(metadata),
    networkView: Object.freeze(text("REQUESTED_NETWORK_VIEW").split(",").filter(Boolean)),
    ...(keepsCase !== undefined && { preservesHeaderCase: keepsCase }),
    ...(clientTls && { clientTls }),
    ...(serverTls && { serverTls }),
    istioVersion: text("ISTIO_VERSION"),
    metadata,
  });
}

/** Other types of the reference are not served here. */
function invalidType(id: string): string {
  return `invalid node type (valid types: [sidecar router]) in the service node ${JSON.stringify(id)}`;
}

type Metadata = Readonly<Record<string, unknown>>;

function parseId(id: string, metadata: Metadata) {
  const placed = { INSTANCE_IPS: textOf(metadata.INSTANCE_IPS), NAMESPACE: textOf(metadata.NAMESPACE) };
  try {
    const { type, ...rest } = parseServiceNode(id, placed);
    if (type === "sidecar" || type === "router") return { type, ...rest };
    throw new NodeError("invalid-type", invalidType(id));
  } catch (thrown) {
    if (!(thrown instanceof ServiceNodeError)) throw thrown;
    const message = thrown.code === "invalid-type" ? invalidType(id) : thrown.message;
    throw new NodeError(thrown.code, message, { cause: thrown });
  }
}

/** Agents send text for numbers and booleans as well, but not all of them. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

/** What Go's ParseBool takes for true. */
function isTrue(value: unknown): boolean {
  return /^(?:1|t|T|TRUE|true|True)$/.test(textOf(value));
}

function readLabels(value: unknown): Readonly<Record<string, string>> {
  if (!isJsonObject(value)) return Object.freeze({});
  const entries = Object.entries(value).filter(([, label]) => isScalar(label));
  return Object.freeze(Object.fromEntries(entries.map(([name, label]) => [name, textOf(label)])));
}

function isScalar(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port <= 65_535 ? port : 0;
}

function readInterception(text: string): InterceptionMode {
  return text === "TPROXY" || text === "NONE" ? text : "REDIRECT";
}

function readTls(metadata: Metadata, side: "CLIENT" | "SERVER"): NodeTlsFiles | undefined {
  const files = {
    certificateChain: textOf(metadata[`TLS_${side}_CERT_CHAIN`]),
    privateKey: textOf(metadata[`TLS_${side}_KEY`]),
    rootCertificate: textOf(metadata[`TLS_${side}_ROOT_CERT`]),
  };
  return Object.values(files).every((file) => file === "") ? undefined : Object.freeze(files);
}

/** What labels say, for each part or as a whole (`topology.istio.io/locality: region.zone.subzone`); else the node's own. */
function readLocality(locality: unknown, labels: Readonly<Record<string, string>>): Locality {
  const { [TOPOLOGY.region]: region, [TOPOLOGY.zone]: zone, [TOPOLOGY.subzone]: subzone } = labels;
  if ((region ?? zone ?? subzone) !== undefined) {
    return Object.freeze({ region: region ?? "", zone: zone ?? "", subzone: subzone ?? "" });
  }
  const label = labelledLocality(labels);
  if (label !== "") return Object.freeze(parseLocality(label));
  const own = isJsonObject(locality) ? locality : {};
  return Object.freeze({
    region: textOf(own.region),
    zone: textOf(own.zone),
    subzone: textOf(own.subZone) || textOf(own.sub_zone),
  });
}
