import { isIP } from "../../net/ip.ts";
import type { ConfigObject } from "../config-object.ts";
import type { HttpRoute, TcpMatch, TcpRoute, TlsMatch, TlsRoute, VirtualServiceSpec } from "../specs.ts";
import { wildcardDomainProblem } from "../values/dns-name.ts";
import { createHostCover, earlierOverlaps } from "../values/hostname.ts";
import { validateWeighted } from "./destination.ts";
import { validateExportTo } from "./export-to.ts";
import { gatewayNameReason, gatewayReach } from "./gateway-name.ts";
import { validateHttpRoute } from "./http-route.ts";
import { validateLabels } from "./labels.ts";
import { each, type Report } from "./report.ts";
import { optionalPortReason, subnetReason } from "./values.ts";

/** Of a message that each wrong name has. */
const MAX_SHOWN_HOSTS = 20;

/** Rules by which requests to a host are routed. */
export function validateVirtualService(report: Report, { spec, namespace }: ConfigObject<"VirtualService">): void {
  const isDelegate = spec.hosts.length === 0;
  const reach = gatewayReach(spec.gateways);
  if (isDelegate && spec.gateways.length > 0) {
    report.error("delegate virtual service must have no gateways specified", "gateways");
  }
  spec.gateways.forEach((name, index) => {
    report.error(gatewayNameReason(name), "gateways", index);
  });
  validateHosts(report, spec.hosts, reach.mesh);
  if (spec.http.length + spec.tcp.length + spec.tls.length === 0) {
    report.error("http, tcp or tls must be provided in virtual service");
  }
  if (isDelegate) validateDelegate(report, spec);
  // Whoever delegates to this rule decides where it applies.
  const scope = { appliesToGateway: isDelegate || reach.gateway, isDelegate };
  each(report, "http", spec.http, (at, http) => validateHttpRoute(at, http, scope));
  const hosts = { hosts: spec.hosts, covers: createHostCover(spec.hosts) };
  each(report, "tls", spec.tls, (at, route) => validateTlsRoute(at, route, hosts));
  each(report, "tcp", spec.tcp, (at, route) => validateTcpRoute(at, route));
  warnUnreachable(report, spec.http);
  validateExportTo(report, spec.exportTo, { namespace, kind: "VirtualService" });
}

function validateHosts(report: Report, hosts: readonly string[], appliesToMesh: boolean): void {
  const isValid = hosts.map((host, index) => {
    const isStar = appliesToMesh && host === "*";
    const reason = isStar
      ? "wildcard host * is not allowed for virtual services bound to the mesh gateway"
      : isIP(host) === 0
        ? wildcardDomainProblem(host)
        : undefined;
    report.error(reason, "hosts", index);
    return reason === undefined;
  });
  if (isValid.includes(false)) return;
  earlierOverlaps(hosts).forEach((earlier, index) => {
    if (earlier !== undefined)
      report.error(`duplicate hosts in virtual service: ${earlier} & ${hosts[index]}`, "hosts", index);
  });
}

function validateDelegate(report: Report, { tcp, tls }: VirtualServiceSpec): void {
  if (tcp.length > 0) report.error("delegate virtual service cannot have tcp routes", "tcp");
  if (tls.length > 0) report.error("delegate virtual service cannot have tls routes", "tls");
}

/** Rules behind one that takes everything never see a request. */
function warnUnreachable(report: Report, http: readonly HttpRoute[]): void {
  const catchAll = http.findIndex(({ match }) => match.length === 0);
  for (let index = catchAll + 1; catchAll !== -1 && index < http.length; index += 1) {
    report.warn(
      `virtualService rule #${index} not used (rule #${catchAll} before it has no matches and takes everything)`,
      "http",
      index,
    );
  }
}

/** Routes by SNI, for TLS that is not terminated. */
/** The hosts of the rule. */
interface RuleHosts {
  readonly hosts: readonly string[];
  readonly covers: (host: string) => boolean;
}

function validateTlsRoute(report: Report, { match, route }: TlsRoute, hosts: RuleHosts): void {
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
function validateTcpRoute(report: Report, { match, route }: TcpRoute): void {
  each(report, "match", match, (at, condition) => {
    validateL4Match(at, condition);
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

function sniReason(host: string, { hosts, covers }: RuleHosts): string | undefined {
  // Server names are never addresses: such a match never applies.
  if (isIP(host) !== 0) return undefined;
  const reason = wildcardDomainProblem(host);
  if (reason !== undefined || covers(host)) return reason;
  const shown = [...hosts.slice(0, MAX_SHOWN_HOSTS), ...(hosts.length > MAX_SHOWN_HOSTS ? ["..."] : [])];
  return `SNI host ${JSON.stringify(host)} is not a compatible subset of any of the virtual service hosts: [${shown.join(", ")}]`;
}
