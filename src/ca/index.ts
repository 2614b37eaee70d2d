export type { Authenticator, Caller } from "./authenticators/authenticator.ts";
export { authenticate, clientCertificateAuthenticator } from "./authenticators/authenticator.ts";
export { forwardedCertificateAuthenticator } from "./authenticators/forwarded-certificate.ts";
export { createJwtAuthenticator, type JwtRule } from "./authenticators/jwt.ts";
export {
  createTokenReviewAuthenticator,
  type TokenReviewer,
  type TokenReviewStatus,
} from "./authenticators/token-review.ts";
export { type Authority, type AuthorityOptions, startAuthority } from "./authority.ts";
export { certificateService } from "./certificate-service.ts";
export type { SigningMaterial } from "./core/signing-material.ts";
export { type DevelopmentIssuer, openDevelopmentIssuer } from "./development-issuer.ts";
export { readPluggedIn } from "./material/plugged-in.ts";
export type { RootTexts, SharedRootStore } from "./material/self-signed-store.ts";
export { type CaServerMetrics, declareCaServerMetrics } from "./metrics.ts";
export { clientProblem, createServerTls } from "./server-credentials.ts";
export { type CaServerOptions, startCaServer } from "./start-ca-server.ts";
