import { isIP } from "../../net/ip.ts";
import type { ConfigObject } from "../config-object.ts";
import type { GatewayServer, ServerTls } from "../specs.ts";
import { isUnixAddress, portProblem } from "../values/address.ts";
import { isDnsLabel, wildcardDomainProblem } from "../values/dns-name.ts";
import { isHttp, isTls, parseProtocol } from "../values/protocol.ts";
import { validateSelector } from "./labels.ts";
import { each, type Report } from "./report.ts";
import { protocolReason, unixAddressReason } from "./values.ts";

const MESH_HAS_OWN = [
  ["server certificate", "serverCertificate"],
  ["private key", "privateKey"],
  ["CA bundle", "caCertificates"],
  ["tlsCertificates", "tlsCertificates"],
  ["credentialName", "credentialName"],
  ["credentialNames", "credentialNames"],
] as const;

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

/** Settings of TLS are for ports that carry it; plain HTTP may only redirect its clients there. */
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

/** TLS at a router: where its certificates come from, and whether the mode has a use for them. */
function validateGatewayTls(report: Report, tls: ServerTls): void {
  const { mode, minProtocolVersion: min } = tls;
  if ((min === "TLSV1_0" || min === "TLSV1_1") && tls.cipherSuites.length === 0) {
    report.warn("TLS version below TLSV1_2 require setting compatible ciphers", "minProtocolVersion");
  }
  if (mode === "ISTIO_MUTUAL") {
    for (const [what, field] of MESH_HAS_OWN) {
      if (tls[field].length > 0) report.error(`ISTIO_MUTUAL TLS cannot have associated ${what}`, field);
    }
    return;
  }
  const sources = [
    tls.serverCertificate !== "" && tls.privateKey !== "",
    tls.credentialName !== "",
    tls.credentialNames.length > 0,
    tls.tlsCertificates.length > 0,
  ];
  if (mode === "PASSTHROUGH" || mode === "AUTO_PASSTHROUGH") {
    const others = [tls.caCrl, tls.serverCertificate, tls.privateKey, tls.caCertificates];
    if (sources.includes(true) || others.some((file) => file !== "")) {
      report.warn(`${mode} mode does not use certificates, they will be ignored`, "mode");
    }
  }
  if (sources.filter(Boolean).length > 1) {
    report.error(
      "only one of credential_name, credential_names, server_certificate/private_key, tls_certificates should be specified",
    );
  }
  if (tls.caCrl !== "" && tls.credentialName !== "") {
    report.error("CRL is not supported with credentialName. CRL has to be specified in the credential", "caCrl");
  }
  const isStored = tls.credentialName !== "" || tls.credentialNames.length > 0;
  if (!isStored && (mode === "SIMPLE" || mode === "MUTUAL" || mode === "OPTIONAL_MUTUAL")) validateFiles(report, tls);
}

function validateFiles(report: Report, tls: ServerTls): void {
  const isSimple = tls.mode === "SIMPLE";
  const what = isSimple ? "SIMPLE TLS" : "MUTUAL TLS";
  const hasRoots = tls.caCertificates !== "" || tls.caCertCredentialName !== "";
  if (!isSimple && !hasRoots) report.error(`${what} requires a client CA bundle`, "caCertificates");
  if (isSimple && tls.caCrl !== "") report.error("CRL is not supported with SIMPLE TLS", "caCrl");
  const given = tls.tlsCertificates;
  if (given.length > 2) report.warn(`${what} can support up to 2 server certificates`, "tlsCertificates");
  for (const [at, { serverCertificate, privateKey }] of (given.length > 0 ? given : [tls]).entries()) {
    const entry = given.length > 0 ? report.at("tlsCertificates", at) : report;
    if (serverCertificate === "") entry.error(`${what} requires a server certificate`, "serverCertificate");
    if (privateKey === "") entry.error(`${what} requires a private key`, "privateKey");
  }
}
