import type { HttpMatch, StringMatch } from "../specs.ts";
import { gatewayNameReason } from "./gateway-name.ts";
import { headerNameReason } from "./headers.ts";
import { validateLabels } from "./labels.ts";
import { validateStringMatch } from "./regex.ts";
import type { Report } from "./report.ts";
import { optionalPortReason, sourceNamespaceReason } from "./values.ts";

const JWT_CLAIM = /^@request\.auth\.claims([.[]|$)/i;

/** `appliesToGateway`: only there a token's claims are known. */
export function validateHttpMatch(report: Report, match: HttpMatch, appliesToGateway: boolean): void {
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
    // A lone star is how users of old spelled "present"; it is no regular expression and never reaches Envoy as one.
    if (match.regex !== "*") validateStringMatch(report.at(name), where, match);
  }
}
