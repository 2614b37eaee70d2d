import type { GrpcChannel } from "../grpc/index.ts";
import type { DiscoveryResponse } from "../protobuf/wire/discovery.ts";
import { streamAggregatedResources } from "./methods.ts";
import { encodeNode, type NodeFields } from "./node.ts";

/** One SotW ADS stream of a client that reads whole responses. */
export interface XdsClient {
  /** In the order of arrival; each has to be ACKed or NACKed. */
  readonly responses: AsyncIterable<DiscoveryResponse>;
  /** Sends a request when the names are others than before; no names are a wildcard subscription where the type has one. */
  subscribe(typeUrl: string, names: readonly string[]): Promise<void>;
  ack(response: DiscoveryResponse): Promise<void>;
  /** Repeats the version that was ACKed last. */
  nack(response: DiscoveryResponse, message: string): Promise<void>;
}

interface TypeState {
  readonly names: readonly string[];
  /** Of the response that was ACKed last. */
  readonly version: string;
  readonly nonce: string;
}

const NEW: TypeState = { names: [], version: "", nonce: "" };
/** google.rpc.Code INVALID_ARGUMENT. */
const INVALID_ARGUMENT = 3;

/** Rejects when the stream cannot be opened; it ends with the signal. */
export async function openXdsClient(
  channel: Pick<GrpcChannel, "bidi">,
  node: NodeFields,
  signal: AbortSignal,
): Promise<XdsClient> {
  const call = await channel.bidi(streamAggregatedResources, { signal });
  const types = new Map<string, TypeState>();
  const encodedNode = encodeNode(node);
  const send = async (typeUrl: string, state: TypeState, error?: string) => {
    types.set(typeUrl, state);
    await call.write({
      typeUrl,
      node: encodedNode,
      resourceNames: state.names,
      versionInfo: state.version,
      responseNonce: state.nonce,
      ...(error !== undefined && { errorDetail: { code: INVALID_ARGUMENT, message: error } }),
    });
  };
  return {
    responses: call.responses,
    async subscribe(typeUrl, names) {
      const before = types.get(typeUrl);
      if (before !== undefined && isSame(before.names, names)) return;
      await send(typeUrl, { ...(before ?? NEW), names });
    },
    ack: ({ typeUrl, versionInfo: version, nonce }) =>
      send(typeUrl, { ...(types.get(typeUrl) ?? NEW), version, nonce }),
    nack: ({ typeUrl, nonce }, message) => send(typeUrl, { ...(types.get(typeUrl) ?? NEW), nonce }, message),
  };
}

function isSame(before: readonly string[], names: readonly string[]): boolean {
  return before.length === names.length && before.every((name, index) => name === names[index]);
}
