export { createTokenManager, GOOGLE_TOKEN_EXCHANGE, readProjectNumber } from "./create-token-manager.ts";
export { type StsServer, startStsServer } from "./start-sts-server.ts";
export { fetchAccessToken, noTokenManager, type TokenManager } from "./token-manager.ts";
