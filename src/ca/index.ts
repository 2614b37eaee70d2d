export { authenticate } from "./authenticators/authenticate.ts";
export {
  AuthenticationError,
  type Authenticator,
  type AuthRequest,
  bearerToken,
  type Caller,
} from "./authenticators/authenticator.ts";
export { clientCertificateAuthenticator } from "./authenticators/client-certificate.ts";
export { forwardedCertificateAuthenticator } from "./authenticators/forwarded-certificate.ts";
export { createJwtAuthenticator, type JwtAuthenticatorOptions, type JwtRule } from "./authenticators/jwt.ts";
export { type Authority, type AuthorityOptions, startAuthority } from "./authority.ts";
export { CaMaterialError, SignError } from "./ca-server-error.ts";
export { type CertificateServiceOptions, certificateService } from "./certificate-service.ts";
export type { TtlLimits } from "./core/leaf-ttl.ts";
export type { RootPools } from "./core/peer-identity.ts";
export type { SigningMaterial } from "./core/signing-material.ts";
export {
  DEVELOPMENT_AUDIENCE,
  DEVELOPMENT_ISSUER,
  type DevelopmentIssuer,
  openDevelopmentIssuer,
} from "./development-issuer.ts";
export type { ServerCertificate, SignRequest } from "./issue.ts";
export { type CaExpiry, type CaServerMetrics, declareCaServerMetrics } from "./metrics.ts";
export { clientProblem, createServerTls, type ServerCredentialsOptions } from "./server-credentials.ts";
export { type CaServer, type CaServerOptions, startCaServer } from "./start-ca-server.ts";
