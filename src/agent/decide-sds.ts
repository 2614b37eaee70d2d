import type { Logger } from "../base/logger.ts";
import { decideSdsStart, type SdsStart } from "../sds/index.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { WORKLOAD_SOCKET_DIRECTORY } from "../settings/well-known-paths.ts";

const CREDENTIAL_SOCKET_DIRECTORY = "./var/run/secrets/credential-uds";
const LEGACY_SOCKET = "./etc/istio/proxy/SDS";

/** Who serves the workload's certificate, and where. */
export async function decideSds(config: AgentConfig, log: Logger): Promise<SdsStart> {
  if (isLegacySds(config)) return { mode: "workload", listenPath: LEGACY_SOCKET };
  const { security, generation } = config;
  return decideSdsStart({
    workloadDirectory: WORKLOAD_SOCKET_DIRECTORY,
    credentialDirectory: CREDENTIAL_SOCKET_DIRECTORY,
    socketName: security.socketFile,
    besideExternal: generation.sds === "legacy" ? "serve-nothing" : generation.sds,
    requireExternal: security.requireExternalSds,
    log,
  });
}

/** Up to 1.8 the agent serves on one socket of its own and Envoy asks with fixed rules. */
export function isLegacySds({ generation }: AgentConfig): boolean {
  return generation.sds === "legacy";
}
