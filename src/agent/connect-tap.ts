import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { startTap, type Tap, type UpstreamOptions, type XdsProxy } from "../xds-proxy/index.ts";

/**
 * The debug tap; undefined when it is off. A taken port ends the start where the generation always had a tap.
 */
export async function connectTap(
  { xds, generation }: AgentConfig,
  parts: { readonly proxy: XdsProxy; readonly upstream: UpstreamOptions; readonly log: Logger },
): Promise<Tap | undefined> {
  const { proxy, upstream, log } = parts;
  if (xds.tapPort === 0) return undefined;
  try {
    return await startTap({ port: xds.tapPort, upstream, node: () => proxy.connectedNode(), log });
  } catch (failure) {
    if (generation.requiresTap) throw failure;
    log.warn(`${errorMessage(failure)}; going on without the debug tap`);
    return undefined;
  }
}
