import type { Principal } from "../../protobuf/gen/envoy/config/rbac/v3.ts";
import type { StringMatcher, ValueMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";
import type { Attribute } from "./attribute.ts";
import { ANY_TEXT, matchText } from "./value-match.ts";

/** A claim is one text or a list of them; in a list one has to match. */
export function claimAttribute(path: readonly string[]): Attribute<Principal> {
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
export function matchRequestPrincipal(value: string): Principal | undefined {
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
