import { posix } from "node:path";
import type { Logger } from "../base/logger.ts";
import type { ProxyOwner } from "../files/proxy-file.ts";
import { createGrpcChannel } from "../grpc/index.ts";
import type { JsonObject } from "../protobuf/wire/struct.ts";
import { openXdsClient } from "../xds/client.ts";
import type { NodeDescriptor } from "./core/node-descriptor.ts";
import { updateDynamicBootstrap } from "./dynamic-bootstrap.ts";
import type { BootstrapFile } from "./write-bootstrap.ts";

const MAX_BOOTSTRAP_BYTES = 64 * 1024 * 1024;

export interface DiscoverBootstrapOptions {
  /** The agent's own xDS socket: the request takes the way every other one takes. */
  readonly socketPath: string;
  readonly log: Logger;
  readonly owner: ProxyOwner | undefined;
  readonly signal: AbortSignal;
}

/** Asks the control plane for the whole bootstrap and puts its answer, which Envoy reads as it is, in place of the generated file. */
export async function discoverBootstrap(
  generated: BootstrapFile,
  options: DiscoverBootstrapOptions,
): Promise<BootstrapFile> {
  const { log, owner, signal, socketPath } = options;
  const path = generated.path.replace(/\.(json|yaml)$/, ".pb");
  const updated = await updateDynamicBootstrap({
    discovery: { request: (typeUrl, node, stop) => requestOnce(posix.resolve(socketPath), typeUrl, node, stop) },
    node: generated.node,
    path,
    owner,
    log,
    signal,
  });
  if (!updated) return generated;
  await generated.remove();
  return { ...generated, path };
}

async function requestOnce(socketPath: string, typeUrl: string, node: NodeDescriptor, signal: AbortSignal) {
  await using channel = createGrpcChannel(`unix:${socketPath}`, { maxReceiveBytes: MAX_BOOTSTRAP_BYTES });
  const { id, cluster, metadata, locality } = node;
  const { region = "", zone = "", sub_zone: subZone = "" } = locality;
  const fields = { id, cluster, metadata: metadata as JsonObject, locality: { region, zone, subZone } };
  const client = await openXdsClient(channel, fields, signal);
  await client.subscribe(typeUrl, []);
  for await (const response of client.responses) {
    return (response.resources ?? []).map(({ typeUrl: type = "", value = new Uint8Array() }) => ({
      typeUrl: type,
      value,
    }));
  }
  throw new Error("the stream ended without an answer");
}
