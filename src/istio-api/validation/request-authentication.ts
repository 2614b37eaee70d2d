import type { JwtRule, RequestAuthenticationSpec } from "../specs.ts";
import { headerNameReason, headerTextReason } from "./headers.ts";
import { validateSelector } from "./labels.ts";
import { each, type Report } from "./report.ts";
import { keySetReason } from "./request-authentication-keys.ts";
import { validateTargetRefs } from "./target-ref.ts";
import { durationReason } from "./values.ts";

/** Whose tokens a workload takes. */
export function validateRequestAuthentication(report: Report, spec: RequestAuthenticationSpec): void {
  validateSelector(report.at("selector", "matchLabels"), spec.selector?.matchLabels ?? {});
  validateTargetRefs(report, spec);
  each(report, "jwtRules", spec.jwtRules, validateJwtRule);
}

function validateJwtRule(report: Report, rule: JwtRule): void {
  const { issuer, jwksUri, jwks, timeout } = rule;
  report.error(durationReason(timeout), "timeout");
  if (issuer === "" && jwksUri === "") report.error("issuer or jwksUri must be non-empty string");
  each(report, "audiences", rule.audiences, nonEmpty("audience must be non-empty string"));
  if (jwksUri !== "") report.error(uriReason(jwksUri), "jwksUri");
  const reason = jwks === "" ? undefined : keySetReason(jwks);
  if (reason !== undefined) report.error(`jwks parse error: ${reason}`, "jwks");
  each(report, "fromHeaders", rule.fromHeaders, (at, { name, prefix }) => {
    at.error(name === "" ? "location header name must be non-empty string" : headerNameReason(name), "name");
    at.error(headerTextReason(prefix), "prefix");
  });
  each(report, "fromParams", rule.fromParams, nonEmpty("location query must be non-empty string"));
  each(report, "fromCookies", rule.fromCookies, nonEmpty("cookie name must be non-empty string"));
  if (rule.outputPayloadToHeader !== "") {
    report.error(headerNameReason(rule.outputPayloadToHeader), "outputPayloadToHeader");
  }
  each(report, "outputClaimToHeaders", rule.outputClaimToHeaders, (at, { header, claim }) => {
    if (header === "" || claim === "") at.error("outputClaimToHeader header and claim value must be non-empty string");
    // Envoy makes a header of it by itself, and takes fewer characters than HTTP.
    else if (!/^[-_A-Za-z0-9]+$/.test(header)) at.error(`header name ${header} is not a valid header name`, "header");
  });
}

function nonEmpty(message: string) {
  return (report: Report, value: string) => report.error(value === "" ? message : undefined);
}

function uriReason(uri: string): string | undefined {
  const isUrl = URL.canParse(uri) && ["http:", "https:"].includes(new URL(uri).protocol);
  return isUrl ? undefined : `${uri} is not an http or https URL`;
}
