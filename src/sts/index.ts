export { createTokenManager, GOOGLE_TOKEN_EXCHANGE } from "./create-token-manager.ts";
export { readProjectNumber } from "./google-project.ts";
export { type StsServer, startStsServer } from "./start-sts-server.ts";
export { fetchAccessToken, noTokenManager, type TokenManager } from "./token-manager.ts";
