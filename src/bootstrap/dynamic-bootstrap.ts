import { backoffDelayMs } from "../base/backoff.ts";
import { errorMessage } from "../base/coded-error.ts";
import { formatDurationMs } from "../base/duration.ts";
import type { Logger } from "../base/logger.ts";
import { wait } from "../base/wait.ts";
import type { ProxyOwner } from "../files/proxy-file.ts";
import { writeProxyFile } from "../files/proxy-file.ts";
import { WireReader } from "../protobuf/wire/wire-reader.ts";
import { BOOTSTRAP_TYPE } from "../xds/type-urls.ts";
import { BootstrapError } from "./bootstrap-error.ts";
import type { NodeDescriptor } from "./core/node-descriptor.ts";

/** One discovery request over a stream of its own through the agent's xDS proxy. Rejects when the stream fails. */
export interface BootstrapDiscovery {
  request(typeUrl: string, node: NodeDescriptor, signal: AbortSignal): Promise<readonly BootstrapResource[]>;
}

export interface BootstrapResource {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

export interface DynamicBootstrapOptions {
  readonly discovery: BootstrapDiscovery;
  readonly node: NodeDescriptor;
  /** Where the message is written as it came; Envoy recognizes the binary form by the ending `.pb`. */
  readonly path: string;
  readonly owner?: ProxyOwner | undefined;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly random?: () => number;
  readonly initialBackoffMs?: number;
}

/**
 * Writes the bootstrap that the control plane has for this node, as the bytes it sent: a field that only the control plane and Envoy know
 * would not survive a translation. A failing stream is tried again until it answers or the
 * signal aborts (then the promise resolves to false); an answer that cannot be used rejects.
 */
export async function updateDynamicBootstrap(options: DynamicBootstrapOptions): Promise<boolean> {
  const { log, signal } = options;
  const backoff = { initialMs: options.initialBackoffMs ?? 500, maxMs: 60_000, factor: 1.5, jitter: 0.5 };
  for (let failures = 1; !signal.aborted; failures += 1) {
    let resources: readonly BootstrapResource[];
    try {
      resources = await options.discovery.request(BOOTSTRAP_TYPE, options.node, signal);
    } catch (failure) {
      if (signal.aborted) return false;
      const delayMs = backoffDelayMs(backoff, failures, options.random);
      log.warn(`retrying bootstrap discovery request with backoff: ${formatDurationMs(delayMs)}`, {
        error: errorMessage(failure),
      });
      await wait(delayMs, signal);
      continue;
    }
    await writeProxyFile(options.path, bootstrapBytes(resources), {
      access: "private",
      owner: options.owner,
    });
    log.info("successfully updated bootstrap config");
    return true;
  }
  return false;
}

/** The one Bootstrap message of an answer. */
export function bootstrapBytes(resources: readonly BootstrapResource[]): Buffer {
  const [resource] = resources;
  if (resource === undefined || resources.length !== 1) {
    throw new BootstrapError("unexpected-resources", `unexpected number of bootstraps: ${resources.length}`);
  }
  if (resource.typeUrl !== BOOTSTRAP_TYPE) {
    throw new BootstrapError("unexpected-resources", `bootstrap discovery returned a ${resource.typeUrl}`);
  }
  const { buffer, byteOffset, byteLength } = resource.value;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  try {
    checkMessage(bytes);
  } catch (failure) {
    const message = `failed to unmarshal bootstrap from discovery: ${errorMessage(failure)}`;
    throw new BootstrapError("unexpected-resources", message, { cause: failure });
  }
  return bytes;
}

/** Throws when the bytes are not a protobuf message; what the fields mean is Envoy's to judge. */
function checkMessage(bytes: Buffer): void {
  const reader = new WireReader(bytes);
  while (!reader.atEnd) reader.skip(reader.tag().wire);
}
