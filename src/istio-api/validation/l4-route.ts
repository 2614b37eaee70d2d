import { isIP } from "../../net/ip.ts";
import type { TcpMatch, TcpRoute, TlsMatch, TlsRoute } from "../specs.ts";
import { wildcardDomainProblem } from "../values/dns-name.ts";
import { hostCovers } from "../values/hostname.ts";
import { validateWeighted } from "./destination.ts";
import { gatewayNameReason } from "./gateway-name.ts";
import { validateLabels } from "./labels.ts";
import { each, type Report } from "./report.ts";
import { optionalPortReason, subnetReason } from "./values.ts";

/** Routes by SNI, for TLS that is not terminated. */
export function validateTlsRoute(report: Report, { match, route }: TlsRoute, hosts: readonly string[]): void {
  if (match.length === 0) report.error("TLS route must have at least one match condition", "match");
  each(report, "match", match, (at, condition) => {
    if (condition.sniHosts.length === 0) at.error("TLS match must have at least one SNI host", "sniHosts");
    condition.sniHosts.forEach((host, index) => {
      at.error(sniReason(host, hosts), "sniHosts", index);
    });
    validateL4Match(at, condition);
  });
  if (route.length === 0) report.error("TLS route is required", "route");
  validateWeighted(report, route);
}

/** Routes by address and port alone. */
export function validateTcpRoute(report: Report, { match, route }: TcpRoute): void {
  each(report, "match", match, (at, condition) => {
    validateL4Match(at, condition);
    // No proxy looks at it, here or in the reference, so that what it says cannot do harm.
    if (condition.sourceSubnet !== "") at.warn("sourceSubnet has no effect", "sourceSubnet");
  });
  if (route.length === 0) report.error("TCP route is required", "route");
  validateWeighted(report, route);
}

function validateL4Match(report: Report, match: TlsMatch | TcpMatch): void {
  match.destinationSubnets.forEach((subnet, index) => {
    report.error(subnetReason(subnet), "destinationSubnets", index);
  });
  report.error(optionalPortReason(match.port), "port");
  validateLabels(report.at("sourceLabels"), match.sourceLabels);
  match.gateways.forEach((name, index) => {
    report.error(gatewayNameReason(name), "gateways", index);
  });
}

function sniReason(host: string, hosts: readonly string[]): string | undefined {
  // Names of servers are never addresses: such a match waits for nobody.
  if (isIP(host) !== 0) return undefined;
  const reason = wildcardDomainProblem(host);
  if (reason !== undefined || hosts.some((outer) => hostCovers(outer, host))) return reason;
  return `SNI host ${JSON.stringify(host)} is not a compatible subset of any of the virtual service hosts: [${hosts.join(", ")}]`;
}
