import { randomUUID } from "node:crypto";
import { GrpcError, type ServerWriter } from "../../grpc/index.ts";
import { parseSpiffe } from "../../mesh-model/workload-identity.ts";
import { encodeAny } from "../../protobuf/envoy/index.ts";
import { TYPE_PREFIX } from "../../protobuf/type-url.ts";
import type { DeltaDiscoveryRequest, DiscoveryRequest } from "../../protobuf/wire/discovery.ts";
import { any } from "../../protobuf/wire/discovery.ts";
import { WireWriter } from "../../protobuf/wire/wire-writer.ts";
import { deltaBody, encodeResponse, sotwBody } from "../../xds/encode-response.ts";
import type { EncodedResource } from "../../xds/resource-source.ts";
import { syncState } from "../../xds/subscription.ts";
import { XDS_TYPES } from "../../xds/xds-types.ts";
import type { AdsContext, DebugPage } from "./ads-context.ts";
import type { Connection, OwnedConnection } from "./connection.ts";

const DEBUG = "istio.io/debug";
/** Pages that have message types of their own. */
const SYNC = `${DEBUG}/syncz`;
const DUMP = `${DEBUG}/config_dump`;

export function isDebugType(typeUrl: string): boolean {
  return typeUrl === DEBUG || typeUrl.startsWith(`${DEBUG}/`);
}

/**
 * A debug page over xDS: `istio.io/debug` with the page as its one resource name, or the page in the type. Only for callers who proved
 * to be of the system namespace; nothing is stored of it. A promise says that the client is behind: it should not be heard further
 * until it has read, as each of its few bytes asks for a whole page.
 */
export function answerDebug(
  connection: OwnedConnection,
  request: DiscoveryRequest | DeltaDiscoveryRequest,
  { call, context }: { readonly call: ServerWriter<Uint8Array>; readonly context: AdsContext },
): Promise<void> | undefined {
  // The client's acknowledgement of an earlier page.
  if (request.responseNonce !== "") return undefined;
  if (connection.identities.length === 0) throw new GrpcError("UNAUTHENTICATED", "authentication required");
  const { systemNamespace, controlPlane } = context.settings;
  if (!connection.identities.some((identity) => parseSpiffe(identity)?.namespace === systemNamespace)) {
    const who = connection.identities.map((identity) => JSON.stringify(identity)).join(", ");
    throw new GrpcError("PERMISSION_DENIED", `the debug info is not available for current identity: ${who}`);
  }
  const names = "resourceNames" in request ? request.resourceNames : request.resourceNamesSubscribe;
  const path = request.typeUrl === DEBUG ? names[0] : request.typeUrl.slice(DEBUG.length + 1);
  if (path === undefined || (request.typeUrl === DEBUG && names.length !== 1)) {
    throw new GrpcError("INVALID_ARGUMENT", "exactly one debug request is required");
  }
  const resources =
    request.typeUrl === SYNC
      ? context.connections.all().map(clientStatus)
      : request.typeUrl === DUMP
        ? names.flatMap((name) => configDumpMessages(name, context.debugPage))
        : [pageOf(path, context)];
  const head = { version: "", typeUrl: request.typeUrl, nonce: randomUUID() };
  const { protocol } = connection;
  const body = [protocol === "sotw" ? sotwBody(resources) : deltaBody(resources)];
  const chunks = encodeResponse(protocol, head, { body, ...(controlPlane !== "" && { controlPlane }) });
  return call.writeChunks(chunks);
}

/** A page as its bytes: readers of debug types know what they asked for. */
function pageOf(path: string, context: AdsContext): EncodedResource {
  const page = context.debugPage(path);
  const out = new WireWriter();
  out.string(1, DEBUG);
  out.bytes(2, Buffer.from(page?.body ?? `no debug page ${path}\n`));
  return { name: path, version: "", any: out.finish() };
}

/** How far one proxy is, in the form that tools for many control planes read. */
function clientStatus(connection: Connection): EncodedResource {
  const { id, node, subscriptions } = connection;
  const genericXdsConfigs = XDS_TYPES.flatMap(({ type, url }) => {
    const subscription = subscriptions.get(type);
    if (subscription === undefined) return [];
    const { error, versionSent, sentAt } = subscription;
    return [
      {
        typeUrl: url,
        ...(versionSent === "" ? {} : { versionInfo: versionSent }),
        ...(sentAt === 0 ? {} : { lastUpdated: new Date(sentAt).toISOString() }),
        configStatus: syncState(subscription),
        ...(error === undefined ? {} : { errorState: { details: error.message } }),
      },
    ];
  });
  const { clusterId, istioVersion } = node;
  const metadata = { CLUSTER_ID: clusterId, ISTIO_VERSION: istioVersion, NAMESPACE: node.namespace };
  const value = { node: { id: node.id, metadata }, genericXdsConfigs };
  return { name: id, version: "", any: encodeAny("envoy.service.status.v3.ClientConfig", value) };
}

/** Parts of a dump that hold something; of the others a control plane knows nothing. */
const FILLED = [
  "envoy.admin.v3.ClustersConfigDump",
  "envoy.admin.v3.EndpointsConfigDump",
  "envoy.admin.v3.ListenersConfigDump",
  "envoy.admin.v3.RoutesConfigDump",
] as const;

interface Dump {
  readonly "@type": string;
  readonly versionInfo?: string;
}

/** What a proxy gets, as the messages of Envoy's own dump; none for a proxy that is not connected. */
function configDumpMessages(proxy: string, debugPage: DebugPage): readonly EncodedResource[] {
  const page = debugPage(`config_dump?proxyID=${encodeURIComponent(proxy)}`);
  if (page === undefined || page.status !== 200) return [];
  const { configs } = JSON.parse(page.body) as { readonly configs: readonly Dump[] };
  return configs.map((config) => ({ name: proxy, version: "", any: encodeDump(config) }));
}

function encodeDump(config: Dump): Buffer {
  const typeUrl = config["@type"];
  const name = FILLED.find((filled) => typeUrl === TYPE_PREFIX + filled);
  return name === undefined ? any.encode({ typeUrl, value: Buffer.alloc(0) }) : encodeAny(name, config);
}
