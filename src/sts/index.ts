import type { TokenExchange, TokenExchangeOptions } from "./start-token-exchange.ts";

export type { TokenExchange, TokenExchangeSettings } from "./start-token-exchange.ts";
export { fetchAccessToken } from "./token-manager.ts";

/** Loaded when it is started: few agents exchange tokens. */
export async function startTokenExchange(options: TokenExchangeOptions): Promise<TokenExchange> {
  return (await import("./start-token-exchange.ts")).startTokenExchange(options);
}
