import { randomUUID } from "node:crypto";
import { GrpcError, type ServerWriter } from "../../grpc/index.ts";
import { parseSpiffe } from "../../mesh-model/workload-identity.ts";
import type { DeltaDiscoveryRequest, DiscoveryRequest } from "../../protobuf/wire/discovery.ts";
import { WireWriter } from "../../protobuf/wire/wire-writer.ts";
import { deltaBody, encodeResponse, sotwBody } from "../../xds/encode-response.ts";
import type { EncodedResource } from "../../xds/resource-source.ts";
import type { AdsContext } from "./ads-context.ts";
import { clientStatus } from "./client-status.ts";
import { configDumpMessages } from "./config-dump-messages.ts";
import type { OwnedConnection } from "./connection.ts";

const DEBUG = "istio.io/debug";
/** Pages that have message types of their own. */
const SYNC = `${DEBUG}/syncz`;
const DUMP = `${DEBUG}/config_dump`;

export function isDebugType(typeUrl: string): boolean {
  return typeUrl === DEBUG || typeUrl.startsWith(`${DEBUG}/`);
}

/**
 * A debug page over xDS: `istio.io/debug` with the page as its one resource name, or the page in the type. Only for callers who proved
 * to be of the system namespace; nothing is remembered of it. A promise says that the client is behind: it should not be heard further
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
