import { TYPE_PREFIX } from "../../../src/protobuf/type-url.ts";
import {
  deltaDiscoveryRequest,
  deltaDiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
} from "../../../src/protobuf/wire/discovery.ts";
import { HEALTH_TYPE } from "../../../src/xds/type-urls.ts";
import { createEnvoyMessages } from "./envoy-messages.ts";

/** One resource in proto JSON with snake_case names; nested `@type` objects are encoded too. */
export interface MeshResource {
  readonly name: string;
  readonly type: string;
  /** JSON, or bytes for types whose .proto is not Envoy's. */
  readonly body: object | Buffer;
}

interface EncodedResource {
  readonly name: string;
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

/** One request as the script reads it, in either protocol. */
export interface ScriptedRequest {
  readonly typeUrl: string;
  readonly isDelta: boolean;
  /** Of the stream's first request. */
  readonly nodeId: string;
  readonly names: readonly string[];
  readonly isAck: boolean;
  /** Why the last response of this type was rejected. */
  readonly error: string | undefined;
}

export interface ResourceScript {
  /** Takes a request of the stream and sends the response, if there is one. */
  take(bytes: Buffer): ScriptedRequest;
  /** Sends the resources of a subscribed type as they are now. */
  push(typeUrl: string): void;
}

interface Subscription {
  /** Empty or `*`: everything. */
  readonly names: Set<string>;
  nonce: string;
}

/** Answers one stream from resources, as a control plane does: a request that neither acknowledges nor adds names gets all it asks for. */
export function createResourceScript(
  kind: "sotw" | "delta",
  resources: (nodeId: string) => readonly MeshResource[],
  send: (response: Buffer) => void,
): ResourceScript {
  const subscriptions = new Map<string, Subscription>();
  let nodeId = "";
  let sent = 0;
  const push = (typeUrl: string) => {
    const subscription = subscriptions.get(typeUrl);
    if (subscription === undefined) return;
    sent += 1;
    subscription.nonce = String(sent);
    const { names, nonce } = subscription;
    const isWanted = (name: string) => names.size === 0 || names.has("*") || names.has(name);
    const found = resources(nodeId)
      .filter((each) => `${TYPE_PREFIX}${each.type}` === typeUrl && isWanted(each.name))
      .map(encode);
    send(kind === "sotw" ? sotwResponse(typeUrl, nonce, found) : deltaResponse(typeUrl, nonce, found, names));
  };
  return {
    push,
    take: (bytes) => {
      const request = kind === "sotw" ? readSotw(bytes) : readDelta(bytes);
      const { typeUrl, nonce, subscribe, unsubscribe, error } = request;
      nodeId = request.nodeId ?? nodeId;
      const subscription = subscriptions.get(typeUrl) ?? { names: new Set(), nonce: "" };
      const isReply = nonce !== "" && nonce === subscription.nonce;
      const hasNews = subscribe.some((name) => !subscription.names.has(name));
      if (kind === "sotw") subscription.names.clear();
      for (const name of subscribe) subscription.names.add(name);
      for (const name of unsubscribe) subscription.names.delete(name);
      // Health reports have no response.
      if (typeUrl !== HEALTH_TYPE) subscriptions.set(typeUrl, subscription);
      if (!isReply || hasNews) push(typeUrl);
      const isAck = isReply && error === undefined;
      return { typeUrl, isDelta: kind === "delta", nodeId, names: subscribe, isAck, error };
    },
  };
}

function readSotw(bytes: Buffer) {
  const { typeUrl, node, responseNonce: nonce, resourceNames, errorDetail } = discoveryRequest.decode(bytes);
  return { typeUrl, nodeId: node?.id, nonce, subscribe: resourceNames, unsubscribe: [], error: errorDetail?.message };
}

function readDelta(bytes: Buffer) {
  const request = deltaDiscoveryRequest.decode(bytes);
  return {
    typeUrl: request.typeUrl,
    nodeId: request.node?.id,
    nonce: request.responseNonce,
    subscribe: request.resourceNamesSubscribe,
    unsubscribe: request.resourceNamesUnsubscribe,
    error: request.errorDetail?.message,
  };
}

const messages = createEnvoyMessages();

function encode({ name, type, body }: MeshResource): EncodedResource {
  const typeUrl = `${TYPE_PREFIX}${type}`;
  return { name, typeUrl, value: Buffer.isBuffer(body) ? body : messages.packAny({ "@type": typeUrl, ...body }).value };
}

function anyOf({ typeUrl, value }: EncodedResource) {
  return { typeUrl, value: Buffer.from(value) };
}

function sotwResponse(typeUrl: string, nonce: string, found: readonly EncodedResource[]): Buffer {
  return discoveryResponse.encode({ typeUrl, versionInfo: nonce, nonce, resources: found.map(anyOf) });
}

/** Names that do not exist are reported as removed, so that no client waits for them. */
function deltaResponse(
  typeUrl: string,
  nonce: string,
  found: readonly EncodedResource[],
  names: ReadonlySet<string>,
): Buffer {
  return deltaDiscoveryResponse.encode({
    typeUrl,
    systemVersionInfo: nonce,
    nonce,
    resources: found.map((each) => ({ name: each.name, version: nonce, resource: anyOf(each) })),
    removedResources: [...names].filter((name) => name !== "*" && !found.some((each) => each.name === name)),
  });
}
