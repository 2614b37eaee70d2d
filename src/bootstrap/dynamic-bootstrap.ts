import { backoffDelayMs } from "../base/backoff.ts";
import { errorMessage } from "../base/coded-error.ts";
import { formatDurationMs } from "../base/duration.ts";
import type { Logger } from "../base/logger.ts";
import type { ProxyOwner } from "../base/proxy-file.ts";
import { writeProxyFile } from "../base/proxy-file.ts";
import { wait } from "../base/wait.ts";
import { BootstrapError } from "./bootstrap-error.ts";
import { isJsonObject, toStrictJson } from "./core/json.ts";
import type { NodeDescriptor } from "./core/node-descriptor.ts";

export const BOOTSTRAP_TYPE_URL = "type.googleapis.com/envoy.config.bootstrap.v3.Bootstrap";

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
  /** An Envoy Bootstrap message to proto3 JSON; throws when it is none. */
  readonly decode: (resource: BootstrapResource) => unknown;
  readonly node: NodeDescriptor;
  /** The generated file that is replaced. */
  readonly path: string;
  readonly owner?: ProxyOwner | undefined;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly random?: () => number;
  readonly initialBackoffMs?: number;
}

/**
 * Replaces the bootstrap file by the one the control plane has for this node. A failing stream is tried again until it answers or the
 * signal aborts (then the promise resolves to false); an answer that cannot be used rejects.
 */
export async function updateDynamicBootstrap(options: DynamicBootstrapOptions): Promise<boolean> {
  const { log, signal } = options;
  const backoff = { initialMs: options.initialBackoffMs ?? 500, maxMs: 60_000, factor: 1.5, jitter: 0.5 };
  for (let failures = 1; !signal.aborted; failures += 1) {
    let resources: readonly BootstrapResource[];
    try {
      resources = await options.discovery.request(BOOTSTRAP_TYPE_URL, options.node, signal);
    } catch (failure) {
      if (signal.aborted) return false;
      const delayMs = backoffDelayMs(backoff, failures, options.random);
      log.warn(`retrying bootstrap discovery request with backoff: ${formatDurationMs(delayMs)}`, {
        error: errorMessage(failure),
      });
      await wait(delayMs, signal);
      continue;
    }
    await writeProxyFile(options.path, decodeBootstrap(resources, options.decode), {
      access: "private",
      owner: options.owner,
    });
    log.info("successfully updated bootstrap config");
    return true;
  }
  return false;
}

/** The one Bootstrap resource of an answer as indented JSON. */
export function decodeBootstrap(
  resources: readonly BootstrapResource[],
  decode: (resource: BootstrapResource) => unknown,
): string {
  const [resource] = resources;
  if (resource === undefined || resources.length !== 1) {
    throw new BootstrapError("unexpected-resources", `unexpected number of bootstraps: ${resources.length}`);
  }
  if (resource.typeUrl !== BOOTSTRAP_TYPE_URL) {
    throw new BootstrapError("unexpected-resources", `bootstrap discovery returned a ${resource.typeUrl}`);
  }
  let document: unknown;
  try {
    document = decode(resource);
  } catch (failure) {
    const message = `failed to unmarshal bootstrap from discovery: ${errorMessage(failure)}`;
    throw new BootstrapError("unexpected-resources", message, { cause: failure });
  }
  if (!isJsonObject(document))
    throw new BootstrapError("unexpected-resources", "bootstrap from discovery is no message");
  return toStrictJson(document, 2);
}
