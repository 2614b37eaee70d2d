import type { AuthorizationSource } from "../../istio-api/specs.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { Principal } from "../../protobuf/gen/envoy/config/rbac/v3.ts";
import type { StringMatcher, ValueMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";
import { parseCidr } from "../shared/cidr.ts";
import {
  ANY_TEXT,
  type Attribute,
  attribute,
  type Clause,
  keysIn,
  matchHeader,
  matchRegex,
  matchText,
  matchTextAfter,
  quote,
  quoteAroundStars,
} from "./clause.ts";

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

/** Undefined for an unknown key. */
export function principalAttribute(key: string, scope: PrincipalScope): Attribute<Principal> | undefined {
  switch (key) {
    case "source.ip":
      return SOURCE_IP;
    case "remote.ip":
      return REMOTE_IP;
    case "source.namespace":
      return NAMESPACE;
    case "source.trustDomain":
      return { ...TRUST_DOMAIN, anyOf: (values) => TRUST_DOMAIN.anyOf(spellDomains(values, scope)) };
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

/** A claim is one text or a list of them; in a list one has to match. */
function claimAttribute(path: readonly string[]): Attribute<Principal> {
  return {
    isHttpOnly: true,
    anyOf(values) {
      const texts = values.map((value): ValueMatcher => ({ stringMatch: matchText(value) }));
      const text = texts.length === 1 && texts[0] !== undefined ? texts[0] : { orMatch: { valueMatchers: texts } };
      return claim(path, { orMatch: { valueMatchers: [{ listMatch: { oneOf: text } }, text] } });
    },
  };
}

/**
 * `ISSUER/SUBJECT`, which a token holds as two claims. The last slash parts them: issuers are often URLs. A prefix that ends before it
 * says something of the issuer alone.
 */
function matchRequestPrincipal(value: string): Principal | undefined {
  if (value === "*") return issuerAndSubject(ANY_TEXT, ANY_TEXT);
  const slash = value.lastIndexOf("/");
  const [issuer, subject] = [value.slice(0, Math.max(slash, 0)), value.slice(slash + 1)];
  const isPrefix = value.endsWith("*") && !value.startsWith("*");
  const byIssuer = issuerAndSubject({ prefix: value.slice(0, -1) }, ANY_TEXT);
  if (slash === -1) {
    if (isPrefix) return byIssuer;
    return value.startsWith("*") ? issuerAndSubject(ANY_TEXT, matchText(value)) : undefined;
  }
  if (issuer === "" || subject === "") return undefined;
  // `https://*` cannot have reached the end of the issuer.
  if (isPrefix && issuer.endsWith("/")) return byIssuer;
  return issuerAndSubject(matchText(issuer), matchText(subject));
}

function issuerAndSubject(issuer: StringMatcher, subject: StringMatcher): Principal {
  return { andIds: { ids: [claim(["iss"], { stringMatch: issuer }), claim(["sub"], { stringMatch: subject })] } };
}

/** Where the filter that checks tokens leaves what they say. */
function claim(path: readonly string[], value: ValueMatcher): Principal {
  return {
    metadata: { filter: "envoy.filters.http.jwt_authn", path: ["payload", ...path].map((key) => ({ key })), value },
  };
}

/** Stands for the mesh's own trust domain in rules. */
const LOCAL = "cluster.local";

type TrustDomains = Pick<MeshSettings, "trustDomain" | "trustDomainAliases">;

function ownDomains({ trustDomain, trustDomainAliases }: TrustDomains): readonly string[] {
  return [trustDomain, ...trustDomainAliases];
}

/** A principal in every trust domain that it stands for: one of the mesh's own, or a pattern of one, stands for all of them. */
function spellPrincipals(principals: readonly string[], domains: TrustDomains): readonly string[] {
  const own = ownDomains(domains);
  const spelled = principals.flatMap((principal) => {
    const slash = principal.indexOf("/");
    const domain = principal.slice(0, Math.max(slash, 0));
    const isSaid = (name: string) => name === domain || (/^\*./.test(domain) && name.endsWith(domain.slice(1)));
    if (domain !== LOCAL && !own.some(isSaid)) return [principal];
    return own.map((name) => (isSaid(name) ? principal : name + principal.slice(slash)));
  });
  return [...new Set(spelled)];
}

/** One of the mesh's own trust domains stands for all of them. */
function spellDomains(values: readonly string[], domains: TrustDomains): readonly string[] {
  const own = ownDomains(domains);
  return [...new Set(values.flatMap((value) => (own.includes(value) ? own : [value])))];
}
