import { isIP } from "../../net/ip.ts";
import type { ConfigObject } from "../config-object.ts";
import type { GatewayServer } from "../specs.ts";
import { isUnixAddress, portProblem } from "../values/address.ts";
import { isDnsLabel, wildcardDomainProblem } from "../values/dns-name.ts";
import { isHttp, isTls, parseProtocol } from "../values/protocol.ts";
import { validateGatewayTls } from "./gateway-tls.ts";
import { validateSelector } from "./labels.ts";
import { each, type Report } from "./report.ts";
import { protocolReason, unixAddressReason } from "./values.ts";

/** What routers listen for. */
export function validateGateway(report: Report, { name, spec }: ConfigObject<"Gateway">): void {
  if (!isDnsLabel(name)) report.error(`invalid gateway name: ${JSON.stringify(name)}`);
  validateSelector(report.at("selector"), spec.selector);
  if (spec.servers.length === 0) report.error("gateway must have at least one server", "servers");
  const names = new Set<string>();
  each(report, "servers", spec.servers, (at, server) => {
    validateServer(at, server);
    if (server.port === undefined) return;
    if (names.has(server.port.name)) {
      at.error(`port names in servers must be unique: duplicate name ${server.port.name}`, "port", "name");
    }
    names.add(server.port.name);
  });
}

function validateServer(report: Report, { port, bind, hosts, tls }: GatewayServer): void {
  if (hosts.length === 0) report.error("server config must contain at least one host", "hosts");
  each(report, "hosts", hosts, (at, host) => at.error(hostReason(host)));
  if (bind !== "") report.error(bindReason(bind), "bind");
  if (tls !== undefined) validateGatewayTls(report.at("tls"), tls);
  if (port === undefined) {
    report.error("port is required");
    return;
  }
  report.error(protocolReason(port.protocol), "port", "protocol");
  if (port.number > 0 || !isUnixAddress(bind)) report.error(portProblem(port.number), "port", "number");
  if (port.targetPort > 0) report.error("targetPort has no impact on Gateways", "port", "targetPort");
  if (port.name === "") report.error("port name must be set", "port", "name");
  validateLayers(report, port.protocol, tls);
}

/** Settings of TLS are for ports that carry it; plain HTTP may only be told to send its clients there. */
function validateLayers(report: Report, protocolName: string, tls: GatewayServer["tls"]): void {
  const protocol = parseProtocol(protocolName);
  if (isTls(protocol)) {
    if (tls === undefined) report.error("server must have TLS settings for HTTPS/TLS protocols");
  } else if (tls !== undefined && !isHttp(protocol)) {
    report.error("server cannot have TLS settings for non HTTPS/TLS ports", "tls");
  } else if (tls !== undefined) {
    const isPlain = tls.mode === "PASSTHROUGH" || tls.mode === "AUTO_PASSTHROUGH";
    const hasFiles = [tls.caCertificates, tls.privateKey, tls.serverCertificate].some((file) => file !== "");
    if (!isPlain || hasFiles) report.error("server cannot have TLS settings for plain text HTTP ports", "tls");
  }
  if (tls?.httpsRedirect === true && !isHttp(protocol)) {
    report.warn("tls.httpsRedirect should only be used with http servers", "tls", "httpsRedirect");
  }
}

/** `host` or `namespace/host`; the namespace may be `*` or `.`. */
function hostReason(text: string): string | undefined {
  const parts = text.split("/");
  const host = parts.at(-1) ?? "";
  if (parts.length > 2) return `invalid host ${JSON.stringify(text)}; allowed: host, namespace/host`;
  const [namespace = ""] = parts;
  if (parts.length === 2 && namespace !== "*" && namespace !== "." && !isDnsLabel(namespace)) {
    return `invalid namespace ${JSON.stringify(namespace)} in host ${JSON.stringify(text)}; allowed: a name, * or .`;
  }
  return host === "*" || isIP(host) !== 0 ? undefined : wildcardDomainProblem(host);
}

function bindReason(bind: string): string | undefined {
  if (isUnixAddress(bind)) return unixAddressReason(bind);
  return isIP(bind) === 0 ? `invalid bind ${JSON.stringify(bind)}; allowed: an IP address or unix://path` : undefined;
}
