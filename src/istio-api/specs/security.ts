import { bool, duration, type Infer, list, map, message, oneOf, optional, string } from "../schema/schema.ts";
import { LABEL_SELECTOR, TARGET_REF } from "./common.ts";

const MUTUAL_TLS = message("mutual tls", { mode: oneOf("UNSET", "DISABLE", "PERMISSIVE", "STRICT") });
export interface MutualTls extends Infer<typeof MUTUAL_TLS> {}

export const PEER_AUTHENTICATION = message("peer authentication", {
  selector: LABEL_SELECTOR,
  mtls: MUTUAL_TLS,
  // Present and empty is a mistake that validation tells.
  portLevelMtls: optional(map(MUTUAL_TLS, "uint32")),
});
export interface PeerAuthenticationSpec extends Infer<typeof PEER_AUTHENTICATION> {}

const JWT_RULE = message("jwt rule", {
  issuer: string,
  audiences: list(string),
  jwksUri: string,
  jwks: string,
  fromHeaders: list(message("jwt header", { name: string, prefix: string })),
  fromParams: list(string),
  fromCookies: list(string),
  outputPayloadToHeader: string,
  outputClaimToHeaders: list(message("claim to header", { header: string, claim: string })),
  forwardOriginalToken: bool,
  timeout: duration,
  spaceDelimitedClaims: list(string),
});
export interface JwtRule extends Infer<typeof JWT_RULE> {}

export const REQUEST_AUTHENTICATION = message("request authentication", {
  selector: LABEL_SELECTOR,
  targetRef: TARGET_REF,
  targetRefs: list(TARGET_REF),
  jwtRules: list(JWT_RULE),
});
export interface RequestAuthenticationSpec extends Infer<typeof REQUEST_AUTHENTICATION> {}

const SOURCE = message("source", {
  principals: list(string),
  notPrincipals: list(string),
  requestPrincipals: list(string),
  notRequestPrincipals: list(string),
  namespaces: list(string),
  notNamespaces: list(string),
  serviceAccounts: list(string),
  notServiceAccounts: list(string),
  trustDomains: list(string),
  notTrustDomains: list(string),
  ipBlocks: list(string),
  notIpBlocks: list(string),
  remoteIpBlocks: list(string),
  notRemoteIpBlocks: list(string),
});
export interface AuthorizationSource extends Infer<typeof SOURCE> {}

const OPERATION = message("operation", {
  hosts: list(string),
  notHosts: list(string),
  ports: list(string),
  notPorts: list(string),
  methods: list(string),
  notMethods: list(string),
  paths: list(string),
  notPaths: list(string),
});
export interface AuthorizationOperation extends Infer<typeof OPERATION> {}

const RULE = message("rule", {
  from: list(message("from", { source: SOURCE })),
  to: list(message("to", { operation: OPERATION })),
  when: list(message("condition", { key: string, values: list(string), notValues: list(string) })),
});
export interface AuthorizationRule extends Infer<typeof RULE> {}

export const AUTHORIZATION_POLICY = message("authorization policy", {
  selector: LABEL_SELECTOR,
  targetRef: TARGET_REF,
  targetRefs: list(TARGET_REF),
  rules: list(RULE),
  action: oneOf("ALLOW", "DENY", "AUDIT", "CUSTOM"),
  provider: message("provider", { name: string }),
});
export interface AuthorizationPolicySpec extends Infer<typeof AUTHORIZATION_POLICY> {}
