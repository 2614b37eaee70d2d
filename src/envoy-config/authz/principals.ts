import type { AuthorizationSource } from "../../istio-api/specs/security.ts";
import type { Principal } from "../../protobuf/gen/envoy/config/rbac/v3.ts";
import type { StringMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";
import { parseCidr } from "../listeners/cidr.ts";
import { type Attribute, attribute, keysIn } from "./attribute.ts";
import type { Clause } from "./clause.ts";
import { claimAttribute, matchRequestPrincipal } from "./token-claims.ts";
import { spellPrincipals } from "./trust-domains.ts";
import { matchHeader, matchRegex, matchTextAfter, quote, quoteAroundStars } from "./value-match.ts";

/** What names in rules are to be read by. */
export interface PrincipalScope {
  /** Of the policy: service accounts without one are its own. */
  readonly namespace: string;
  readonly trustDomain: string;
  readonly trustDomainAliases: readonly string[];
}

export function sourceClauses(source: AuthorizationSource, scope: PrincipalScope): readonly Clause<Principal>[] {
  const of = (key: string, values: readonly string[], notValues: readonly string[]): Clause<Principal> => ({
    attribute: principalAttribute(key, scope),
    values,
    notValues,
  });
  return [
    of("source.principal", source.principals, source.notPrincipals),
    of("request.auth.principal", source.requestPrincipals, source.notRequestPrincipals),
    of("source.serviceAccount", source.serviceAccounts, source.notServiceAccounts),
    of("source.namespace", source.namespaces, source.notNamespaces),
    of("source.trustDomain", source.trustDomains, source.notTrustDomains),
    of("remote.ip", source.remoteIpBlocks, source.notRemoteIpBlocks),
    of("source.ip", source.ipBlocks, source.notIpBlocks),
  ];
}

/** Undefined for a key that nobody knows. */
export function principalAttribute(key: string, scope: PrincipalScope): Attribute<Principal> | undefined {
  switch (key) {
    case "source.ip":
      return SOURCE_IP;
    case "remote.ip":
      return REMOTE_IP;
    case "source.namespace":
      return NAMESPACE;
    case "source.trustDomain":
      return TRUST_DOMAIN;
    case "source.principal":
      return { ...PRINCIPAL, anyOf: (values) => PRINCIPAL.anyOf(spellPrincipals(values, scope)) };
    case "source.serviceAccount":
      return attribute("any", anyPrincipal, (value) => matchServiceAccount(value, scope.namespace));
    case "request.auth.principal":
      return attribute("http", anyPrincipal, matchRequestPrincipal);
    case "request.auth.audiences":
      return claimAttribute(["aud"]);
    case "request.auth.presenter":
      return claimAttribute(["azp"]);
  }
  const [header, ...more] = keysIn(key, "request.headers") ?? [];
  if (header !== undefined && more.length === 0) {
    return attribute("http", anyPrincipal, (value) => ({ header: matchHeader(header, value) }));
  }
  const claims = keysIn(key, "request.auth.claims");
  return claims && claimAttribute(claims);
}

export function allPrincipals(ids: readonly Principal[]): Principal {
  const [only = { any: true }, ...more] = ids;
  return more.length === 0 ? only : { andIds: { ids } };
}

export function notPrincipal(notId: Principal): Principal {
  return { notId };
}

function anyPrincipal(ids: readonly Principal[]): Principal {
  const [only, ...more] = ids;
  return only !== undefined && more.length === 0 ? only : { orIds: { ids } };
}

function authenticated(principalName: StringMatcher): Principal {
  return { authenticated: { principalName } };
}

function matchServiceAccount(value: string, ownNamespace: string): Principal | undefined {
  const [account = "", namespace = ownNamespace, ...more] = value.split("/").reverse();
  if (account === "" || namespace === "" || more.length > 0) return undefined;
  return authenticated(matchRegex(`spiffe://.+/ns/${quote(namespace)}/(.+/|)sa/${quote(account)}(/.+)?`));
}

const PRINCIPAL = attribute<Principal>("any", anyPrincipal, (value) =>
  authenticated(matchTextAfter("spiffe://", value)),
);
const NAMESPACE = attribute<Principal>("any", anyPrincipal, (value) =>
  authenticated(matchRegex(`.*/ns/${quoteAroundStars(value)}/.*`)),
);
const TRUST_DOMAIN = attribute<Principal>("any", anyPrincipal, (value) =>
  authenticated(
    value.includes("*")
      ? matchRegex(`spiffe://${quoteAroundStars(value, "[^/]*")}/.*`)
      : { prefix: `spiffe://${value}/` },
  ),
);
const SOURCE_IP = attribute<Principal>("any", anyPrincipal, (value) => {
  const directRemoteIp = parseCidr(value);
  return directRemoteIp && { directRemoteIp };
});
const REMOTE_IP = attribute<Principal>("any", anyPrincipal, (value) => {
  const remoteIp = parseCidr(value);
  return remoteIp && { remoteIp };
});
