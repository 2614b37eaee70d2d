export { fetchAccessToken } from "./access-token.ts";
export { type CacheOptions, cachingManager } from "./caching-manager.ts";
export type { ExchangeRequest } from "./core/exchange-request.ts";
export { createTokenManager, GOOGLE_TOKEN_EXCHANGE } from "./create-token-manager.ts";
export { type GoogleExchangeOptions, googleTokenManager } from "./google-exchange.ts";
export { readProjectNumber } from "./google-project.ts";
export { StsListenError, type StsServer, type StsServerOptions, startStsServer } from "./start-sts-server.ts";
export { StsError } from "./sts-error.ts";
export { type IssuedToken, noTokenManager, type TokenManager, type TokenStatus } from "./token-manager.ts";
