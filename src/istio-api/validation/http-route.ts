import type { CorsPolicy, HttpMatch, HttpRoute, StringMatch } from "../specs.ts";
import { validateDestination, validateWeighted } from "./destination.ts";
import { validateFault } from "./fault.ts";
import { gatewayNameReason } from "./gateway-name.ts";
import { headerNameReason, validateAuthority, validateHeaders } from "./headers.ts";
import { validateDirectResponse, validateRedirect, validateRewrite } from "./http-action.ts";
import { validateLabels } from "./labels.ts";
import { regexReason, validateStringMatch } from "./regex.ts";
import { each, type Report } from "./report.ts";
import { validateRetries } from "./retries.ts";
import { durationReason, optionalPortReason, percentReason, sourceNamespaceReason } from "./values.ts";

const METHODS = new Set(["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"]);

const JWT_CLAIM = /^@request\.auth\.claims([.[]|$)/i;

export interface RouteScope {
  readonly appliesToGateway: boolean;
  /** The rule has no hosts: others delegate to it. */
  readonly isDelegate: boolean;
}

/** One HTTP rule: what it matches and the one thing that happens then. */
export function validateHttpRoute(report: Report, http: HttpRoute, { appliesToGateway, isDelegate }: RouteScope): void {
  each(report, "match", http.match, (at, match) => validateHttpMatch(at, match, appliesToGateway));
  if (http.delegate === undefined) validateAction(report, http);
  else validateDelegation(report, http, isDelegate);
  validateHeaders(report.at("headers"), http.headers);
  validateAuthority(report, http.rewrite, http.headers);
  validateWeighted(report, http.route, (at, { headers }) => {
    validateHeaders(at.at("headers"), headers);
    validateAuthority(at, undefined, headers);
  });
  if (http.redirect !== undefined) validateRedirect(report.at("redirect"), http.redirect);
  if (http.directResponse !== undefined) validateDirectResponse(report.at("directResponse"), http.directResponse);
  if (http.rewrite !== undefined) validateRewrite(report.at("rewrite"), http.rewrite);
  if (http.retries !== undefined) validateRetries(report.at("retries"), http.retries);
  if (http.fault !== undefined) validateFault(report.at("fault"), http.fault);
  if (http.corsPolicy !== undefined) validateCors(report.at("corsPolicy"), http.corsPolicy);
  report.error(durationReason(http.timeout), "timeout");
  validateMirrors(report, http);
}

function validateAction(report: Report, http: HttpRoute): void {
  const action =
    http.redirect !== undefined ? "redirect" : http.directResponse !== undefined ? "direct_response" : undefined;
  if (action === undefined) {
    if (http.route.length === 0) report.error("HTTP route, redirect or direct_response is required");
    return;
  }
  if (http.route.length > 0) report.error(`HTTP route cannot contain both route and ${action}`);
  if (http.fault !== undefined) report.error(`HTTP route cannot contain both fault and ${action}`);
  if (http.rewrite !== undefined) report.error(`HTTP route rule cannot contain both rewrite and ${action}`);
  if (http.redirect !== undefined && http.directResponse !== undefined) {
    report.error("HTTP route rule cannot contain both direct_response and redirect");
  }
}

/** The rule delegated to decides what happens; a second level would make loops possible. */
function validateDelegation(report: Report, http: HttpRoute, isDelegate: boolean): void {
  if (isDelegate) report.error("delegate virtual service cannot delegate again", "delegate");
  const name = http.name === "" ? "" : ` ${http.name}`;
  if (http.route.length > 0) report.error(`root HTTP route${name} must not specify route`, "route");
  if (http.redirect !== undefined) report.error(`root HTTP route${name} must not specify redirect`, "redirect");
  if (http.directResponse !== undefined) {
    report.error(`root HTTP route${name} must not specify direct_response`, "directResponse");
  }
}

function validateMirrors(report: Report, http: HttpRoute): void {
  if (http.mirror !== undefined && http.mirrors.length > 0) {
    report.error("HTTP route cannot contain both mirror and mirrors", "mirrors");
  }
  if (http.mirror !== undefined) validateDestination(report.at("mirror"), http.mirror);
  each(report, "mirrors", http.mirrors, (at, mirror) => {
    validateDestination(at.at("destination"), mirror.destination);
    at.error(percentReason(mirror.percentage?.value), "percentage");
  });
  report.error(percentReason(http.mirrorPercent), "mirrorPercent");
  report.error(percentReason(http.mirrorPercentage?.value), "mirrorPercentage");
}

/** `appliesToGateway`: only there a token's claims are known. */
function validateHttpMatch(report: Report, match: HttpMatch, appliesToGateway: boolean): void {
  // Every path begins with the empty text; of other values Envoy takes no empty prefix.
  if (match.uri?.prefix !== "") validateStringMatch(report.at("uri"), "uri", match.uri);
  for (const name of ["scheme", "method", "authority"] as const) {
    validateStringMatch(report.at(name), name, match[name]);
  }
  validateNamed(report.at("headers"), "headers", match.headers, appliesToGateway);
  validateNamed(report.at("withoutHeaders"), "withoutHeaders", match.withoutHeaders, appliesToGateway);
  for (const [name, value] of Object.entries(match.queryParams)) {
    validateStringMatch(report.at("queryParams", name), "queryParams", value);
  }
  report.error(optionalPortReason(match.port), "port");
  validateLabels(report.at("sourceLabels"), match.sourceLabels);
  report.error(sourceNamespaceReason(match.sourceNamespace), "sourceNamespace");
  match.gateways.forEach((name, index) => {
    report.error(gatewayNameReason(name), "gateways", index);
  });
}

function validateNamed(
  report: Report,
  where: string,
  headers: Readonly<Record<string, StringMatch>>,
  appliesToGateway: boolean,
): void {
  for (const [name, match] of Object.entries(headers)) {
    if (!JWT_CLAIM.test(name)) report.error(headerNameReason(name, true), name);
    else if (!appliesToGateway) {
      report.error(`JWT claim based routing (key: ${name}) is only supported for gateway, found no gateways`, name);
    }
    // A lone star is how users of old spelled "present"; it is not a regular expression and never reaches Envoy as one.
    if (match.regex !== "*") validateStringMatch(report.at(name), where, match);
  }
}

function validateCors(report: Report, policy: CorsPolicy): void {
  each(report, "allowOrigins", policy.allowOrigins, (at, { exact, prefix, regex }) => {
    if ((exact ?? prefix ?? regex ?? "") === "")
      at.error("'exact', 'prefix' or 'regex' must be set to a non-empty value");
    if (regex !== undefined) at.error(regexReason("corsPolicy", regex), "regex");
  });
  policy.allowMethods.forEach((method, index) => {
    if (method !== "*" && !METHODS.has(method)) {
      report.error(`${JSON.stringify(method)} is not a supported HTTP method`, "allowMethods", index);
    }
  });
  for (const list of ["allowHeaders", "exposeHeaders"] as const) {
    policy[list].forEach((name, index) => {
      if (name !== "*") report.error(headerNameReason(name), list, index);
    });
  }
  if (policy.maxAge === undefined) return;
  report.error(durationReason(policy.maxAge), "maxAge");
  if (policy.maxAge.includes(".")) report.error("max_age duration is accurate only to seconds precision", "maxAge");
}
