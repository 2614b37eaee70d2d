import type { CloseStack } from "../base/close-stack.ts";
import type { Logger } from "../base/logger.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { type StsServer, startStsServer, type TokenManager } from "../sts/index.ts";
import { step } from "./agent-error.ts";
import { connectTokenManager, type TokenExchange, type TokenManagerParts } from "./connect-token-manager.ts";

/** The token exchange for the agent's own calls, and for Envoy's on `--stsPort` when that is given. */
export async function connectTokenExchange(
  config: AgentConfig,
  parts: TokenManagerParts & { readonly opened: CloseStack },
): Promise<TokenExchange> {
  const exchange = await connectTokenManager(config, parts);
  if (config.security.stsPort > 0) parts.opened.add(await connectSts(config, exchange.manager, parts.log));
  return exchange;
}

/** The port alone. */
export async function connectSts(config: AgentConfig, manager: TokenManager, log: Logger): Promise<StsServer> {
  const { security, status } = config;
  return step("failed to start STS server", () =>
    startStsServer({
      port: security.stsPort,
      host: status.isIpv6 ? "::1" : "127.0.0.1",
      manager,
      log: log.scope("stsserver"),
    }),
  );
}
