import { Secret } from "../base/secret.ts";
import type { TokenFetcher } from "../identity/index.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import type { TokenExchange } from "./connect-token-manager.ts";

export interface XdsCredentials {
  /** Asked for every stream; undefined: streams go out without a token. */
  readonly token: (() => Promise<string | undefined>) | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** A stream that waits longer for its token is better opened anew. */
const EXCHANGE_MS = 20_000;

/**
 * The workload's own token; with `XDS_AUTH_PROVIDER=gcp`, where the generation has a token exchange, the access token it is traded for:
 * Google's front ends do not know the tokens of clusters, and charge the calls to a project.
 */
export function xdsCredentials(
  config: { readonly security: Pick<AgentConfig["security"], "xdsAuthProvider"> },
  tokens: Pick<TokenFetcher, "fetch"> | undefined,
  exchange: TokenExchange | undefined,
): XdsCredentials {
  if (tokens === undefined) return { token: undefined, headers: {} };
  if (config.security.xdsAuthProvider !== "gcp" || exchange === undefined) {
    return { token: async () => (await tokens.fetch())?.reveal(), headers: {} };
  }
  return {
    token: async () => {
      const signal = AbortSignal.timeout(EXCHANGE_MS);
      const subject = (await tokens.fetch(signal)) ?? new Secret("");
      const { fetchAccessToken } = await import("../sts/index.ts");
      return (await fetchAccessToken(exchange.manager, subject, signal)).reveal();
    },
    headers: { "x-goog-user-project": exchange.projectNumber },
  };
}
