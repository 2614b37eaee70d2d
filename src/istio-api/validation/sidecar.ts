import { splitHostPort } from "../../net/host-port.ts";
import { isIP } from "../../net/ip.ts";
import type { ServerTls, SidecarEgress, SidecarIngress, SidecarPort, SidecarSpec } from "../specs.ts";
import { isUnixAddress, portProblem } from "../values/address.ts";
import { fqdnProblem, isDnsLabel, wildcardDomainProblem } from "../values/dns-name.ts";
import { isTls, parseProtocol } from "../values/protocol.ts";
import { validateConnectionPool } from "./connection-pool.ts";
import { validateDestination } from "./destination.ts";
import { validateSelector } from "./labels.ts";
import { each, type Report } from "./report.ts";
import { portNameReason, protocolReason, unixAddressReason } from "./values.ts";

const ENDPOINT_FORMS =
  "sidecar: defaultEndpoint must be of form 127.0.0.1:<port>, 0.0.0.0:<port>, [::1]:<port>, [::]:<port>, unix://filepath or unset";

/** What a sidecar listens on and whom it may reach. */
export function validateSidecar(report: Report, spec: SidecarSpec): void {
  const { workloadSelector, ingress, egress, inboundConnectionPool, outboundTrafficPolicy: policy } = spec;
  validateSelector(report.at("workloadSelector", "labels"), workloadSelector?.labels ?? {});
  if (ingress.length + egress.length === 0 && policy === undefined && inboundConnectionPool === undefined) {
    report.error("sidecar: empty configuration provided");
  }
  const isNew = uniqueListeners();
  each(report, "ingress", ingress, (at, listener) => validateIngress(at, listener, isNew));
  validateEgress(report, egress);
  validateConnectionPool(report.at("inboundConnectionPool"), inboundConnectionPool);
  if (policy?.egressProxy === undefined) return;
  if (policy.mode !== "ALLOW_ANY") {
    report.error(
      "sidecar: egress_proxy must be set only with ALLOW_ANY outbound_traffic_policy mode",
      "outboundTrafficPolicy",
    );
  }
  const at = report.at("outboundTrafficPolicy", "egressProxy");
  if (policy.egressProxy.port === undefined) at.error("sidecar: egress_proxy port must be non-nil", "port");
  const reason = fqdnProblem(policy.egressProxy.host);
  if (reason === undefined) validateDestination(at, policy.egressProxy);
  else at.error(reason, "host");
}

/** True for the first listener of an address and port. */
function uniqueListeners(): (bind: string, port: number) => boolean {
  const seen = new Set<string>();
  return (bind, port) => seen.size !== seen.add(`${bind} ${port}`).size;
}

function validateIngress(
  report: Report,
  listener: SidecarIngress,
  isNew: (bind: string, port: number) => boolean,
): void {
  const { port, bind, defaultEndpoint, tls } = listener;
  if (port === undefined) {
    report.error("sidecar: port is required for ingress listeners");
    return;
  }
  if (port.name !== "") report.error(portNameReason(port.name), "port", "name");
  report.error(protocolReason(port.protocol), "port", "protocol");
  report.error(portProblem(port.number), "port", "number");
  report.error(targetPortReason(port), "port", "targetPort");
  if (bind !== "" && isIP(bind) === 0) report.error(`sidecar: bind ${bind} is not a valid IP address`, "bind");
  if (!isNew(bind, port.number)) report.error("sidecar: ports on IP bound listeners must be unique", "port");
  report.error(defaultEndpoint === "" ? undefined : endpointReason(defaultEndpoint), "defaultEndpoint");
  validateConnectionPool(report.at("connectionPool"), listener.connectionPool);
  if (tls === undefined) return;
  if (!isTls(parseProtocol(port.protocol)))
    report.error("server cannot have TLS settings for non HTTPS/TLS ports", "tls");
  validateIngressTls(report.at("tls"), tls);
}

function targetPortReason({ targetPort }: SidecarPort): string | undefined {
  return targetPort === 0 ? undefined : "targetPort has no impact on Sidecars";
}

function endpointReason(endpoint: string): string | undefined {
  if (isUnixAddress(endpoint)) return unixAddressReason(endpoint);
  const split = splitHostPort(endpoint);
  if ("problem" in split || !["127.0.0.1", "0.0.0.0", "::1", "::"].includes(split.host)) return ENDPOINT_FORMS;
  return /^\d+$/.test(split.port) ? portProblem(Number(split.port)) : ENDPOINT_FORMS;
}

function validateEgress(report: Report, egress: readonly SidecarEgress[]): void {
  const isNew = uniqueListeners();
  each(report, "egress", egress, (at, listener, index) => {
    const { port, bind, hosts } = listener;
    if (port !== undefined) validateEgressPort(at, listener, isNew);
    else {
      if (index !== egress.length - 1) {
        at.error("sidecar: the egress listener with empty port should be the last listener in the list");
      }
      if (bind !== "" && isIP(bind) === 0) at.error(`sidecar: bind ${bind} is not a valid IP address`, "bind");
    }
    if (hosts.length === 0) at.error("sidecar: egress listener must contain at least one host", "hosts");
    hosts.forEach((host, index) => {
      at.error(egressHostReason(host), "hosts", index);
    });
  });
}

function validateEgressPort(
  report: Report,
  listener: SidecarEgress,
  isNew: (bind: string, port: number) => boolean,
): void {
  const { port, bind, captureMode } = listener;
  if (port === undefined) return;
  if (port.name !== "") report.error(portNameReason(port.name), "port", "name");
  report.error(protocolReason(port.protocol), "port", "protocol");
  report.error(targetPortReason(port), "port", "targetPort");
  if (port.number === 0) {
    if (!isUnixAddress(bind))
      report.error("sidecar: bind must be a unix domain socket (unix://path) when port is 0", "bind");
    else report.error(unixAddressReason(bind), "bind");
    if (captureMode === "IPTABLES") {
      report.error("sidecar: captureMode must be DEFAULT/NONE for unix domain socket listeners", "captureMode");
    }
    if (!isNew(bind, 0)) report.error("sidecar: unix domain socket values for listeners must be unique", "bind");
    return;
  }
  report.error(portProblem(port.number), "port", "number");
  if (bind !== "" && isIP(bind) === 0) report.error(`sidecar: bind ${bind} is not a valid IP address`, "bind");
  if (!isNew(bind, port.number)) report.error("sidecar: ports on IP bound listeners must be unique", "port");
}

/** `namespace/host`; the namespace may also be `*` or `.`, each after a `~` for what is not wanted, or a `~` alone. */
function egressHostReason(text: string): string | undefined {
  const parts = text.split("/");
  const [namespace = "", host = ""] = parts;
  if (parts.length !== 2) return `host must be of form namespace/dnsName, found ${JSON.stringify(text)}`;
  if (namespace === "" || host === "") return "config namespace and dnsName in host entry cannot be empty";
  if (!["*", ".", "~", "~*", "~."].includes(namespace) && !isDnsLabel(namespace.replace(/^~/, ""))) {
    return `invalid namespace value ${JSON.stringify(namespace)} in sidecar`;
  }
  if (host !== "*" && !host.includes("."))
    return `short names (non FQDN) are not allowed, found ${JSON.stringify(host)}`;
  return wildcardDomainProblem(host);
}

/** TLS that a sidecar terminates itself: from files only, as there is no SDS source for it. */
function validateIngressTls(report: Report, tls: ServerTls): void {
  const { mode } = tls;
  if (tls.subjectAltNames.length > 0) {
    report.error("sidecar: subjectAltNames is not supported in ingress tls", "subjectAltNames");
  }
  if (tls.httpsRedirect) report.error("sidecar: httpsRedirect is not supported", "httpsRedirect");
  if (tls.credentialName !== "") report.error("sidecar: credentialName is not currently supported", "credentialName");
  if (tls.credentialNames.length > 0) {
    report.error("sidecar: credentialNames is not currently supported", "credentialNames");
  }
  if (tls.tlsCertificates.length > 0) {
    report.error("sidecar: tls_certificates is not currently supported", "tlsCertificates");
  }
  if (mode === "ISTIO_MUTUAL" || mode === "AUTO_PASSTHROUGH") {
    report.error(`configuration is invalid: cannot set mode to ${mode} in sidecar ingress tls`, "mode");
  }
  if (mode === "SIMPLE" || mode === "MUTUAL" || mode === "OPTIONAL_MUTUAL") validateFiles(report, tls);
}

function validateFiles(report: Report, tls: ServerTls): void {
  const isSimple = tls.mode === "SIMPLE";
  const what = isSimple ? "SIMPLE TLS" : "MUTUAL TLS";
  if (!isSimple && tls.caCertificates === "") report.error(`${what} requires a client CA bundle`, "caCertificates");
  if (isSimple && tls.caCrl !== "") report.error("CRL is not supported with SIMPLE TLS", "caCrl");
  // Other sources are reported above; they include these files.
  if (tls.credentialName !== "" || tls.credentialNames.length > 0 || tls.tlsCertificates.length > 0) return;
  if (tls.serverCertificate === "") report.error(`${what} requires a server certificate`, "serverCertificate");
  if (tls.privateKey === "") report.error(`${what} requires a private key`, "privateKey");
}
