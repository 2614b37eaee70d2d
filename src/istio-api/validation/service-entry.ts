import { isIP } from "../../net/ip.ts";
import type { ConfigObject } from "../config-object.ts";
import type { ServiceEntrySpec, WorkloadEntrySpec } from "../specs.ts";
import { isUnixAddress, portProblem } from "../values/address.ts";
import { fqdnProblem, wildcardDomainProblem } from "../values/dns-name.ts";
import { isWildcard } from "../values/hostname.ts";
import { isHttp, isTls, type Protocol, parseProtocol } from "../values/protocol.ts";
import { validateExportTo } from "./export-to.ts";
import { validateLabels, validateSelector } from "./labels.ts";
import { each, type Report } from "./report.ts";
import { isIpOrFqdn, optionalPortReason, portNameReason, protocolReason, subnetReason } from "./values.ts";
import { validateUnixEndpoint } from "./workload-entry.ts";

/** Services that no platform knows. */
export function validateServiceEntry(report: Report, { spec, namespace }: ConfigObject<"ServiceEntry">): void {
  if (spec.workloadSelector !== undefined) {
    validateSelector(report.at("workloadSelector", "labels"), spec.workloadSelector.labels);
    if (spec.endpoints.length > 0) {
      report.error("only one of WorkloadSelector or Endpoints is allowed in Service Entry", "workloadSelector");
    }
  }
  validateHosts(report, spec);
  validateAddresses(report, spec);
  validatePorts(report, spec);
  validateResolution(report, spec);
  validateExportTo(report, spec.exportTo, { namespace, kind: "ServiceEntry" });
}

function validateHosts(report: Report, { hosts, ports, resolution }: ServiceEntrySpec): void {
  if (hosts.length === 0) report.error("service entry must have at least one host", "hosts");
  hosts.forEach((host, index) => {
    const reason = host === "*" ? `invalid host ${host}` : wildcardDomainProblem(host);
    report.error(reason === undefined || host === "*" ? reason : `invalid host ${host}: ${reason}`, "hosts", index);
  });
  // Plain TCP carries no name by which a proxy could tell the hosts apart; without resolution the names do not matter.
  const canDiffer = ports.every(({ protocol }) => isHttp(parseProtocol(protocol)) || isTls(parseProtocol(protocol)));
  if (resolution !== "NONE" && hosts.length > 1 && !canDiffer) {
    report.error("multiple hosts provided with non-HTTP, non-TLS ports", "hosts");
  }
}

function validateAddresses(report: Report, { addresses, resolution, ports }: ServiceEntrySpec): void {
  addresses.forEach((address, index) => {
    report.error(subnetReason(address), "addresses", index);
  });
  const hasRange = addresses.some((address) => address.includes("/"));
  if (hasRange && resolution !== "NONE" && resolution !== "STATIC") {
    report.error("CIDR addresses are allowed only for NONE/STATIC resolution types", "addresses");
  }
  const tcp = ports.findIndex(({ protocol }) => {
    const parsed = parseProtocol(protocol);
    return parsed === "TCP" || parsed === "Unsupported";
  });
  if (addresses.length === 0 && tcp !== -1) {
    report.warn(
      "addresses are required for ports serving TCP (or unset) protocol: without them all traffic of that port matches",
      "ports",
      tcp,
    );
  }
}

function validatePorts(report: Report, { ports }: ServiceEntrySpec): void {
  const names = new Set<string>();
  const numbers = new Set<number>();
  each(report, "ports", ports, (at, { name, number, protocol, targetPort }) => {
    at.error(names.has(name) ? `service entry port name ${JSON.stringify(name)} already defined` : undefined, "name");
    at.error(numbers.has(number) ? `service entry port ${number} already defined` : undefined, "number");
    names.add(name);
    numbers.add(number);
    at.error(portNameReason(name), "name");
    at.error(protocolReason(protocol), "protocol");
    at.error(portProblem(number), "number");
    at.error(optionalPortReason(targetPort), "targetPort");
  });
}

function validateResolution(report: Report, spec: ServiceEntrySpec): void {
  const { resolution, endpoints, hosts } = spec;
  const portNames = new Set(spec.ports.map(({ name }) => name));
  switch (resolution) {
    case "NONE":
      if (endpoints.length > 0) report.error("no endpoints should be provided for resolution type none", "endpoints");
      return;
    case "STATIC":
      each(report, "endpoints", endpoints, (at, endpoint) => validateEndpoint(at, endpoint, spec, portNames));
      return;
    case "DYNAMIC_DNS":
      validateDynamic(report, spec);
      return;
    default:
      if (endpoints.length === 0 && spec.workloadSelector === undefined) {
        hosts.forEach((host, index) => {
          if (!isWildcard(host) && fqdnProblem(host) === undefined) return;
          report.error(
            `hosts must be FQDN or contain only prefix wildcards if no endpoints are provided for resolution mode ${resolution}: ${host} cannot be resolved`,
            "hosts",
            index,
          );
        });
      }
      if (resolution === "DNS_ROUND_ROBIN" && endpoints.length > 1) {
        report.error(`there must only be 0 or 1 endpoint for resolution mode ${resolution}`, "endpoints");
      }
      each(report, "endpoints", endpoints, (at, endpoint) => validateEndpoint(at, endpoint, spec, portNames));
  }
}

/** Names are resolved as they are asked for, so that they have to be open, and carried by the protocol. */
function validateDynamic(report: Report, { hosts, addresses, endpoints, ports, resolution }: ServiceEntrySpec): void {
  hosts.forEach((host, index) => {
    if (!isWildcard(host)) report.error(`host must be wildcarded for resolution mode ${resolution}`, "hosts", index);
  });
  if (addresses.length > 0) report.error(`addresses cannot be set for resolution type ${resolution}`, "addresses");
  if (endpoints.length > 0) report.error(`endpoints cannot be set for resolution type ${resolution}`, "endpoints");
  each(report, "ports", ports, (at, { protocol }) => {
    if (!DYNAMIC_PROTOCOLS.has(parseProtocol(protocol))) {
      const reason = `only HTTP, TLS, GRPC, and HTTP2 protocols are supported for resolution type ${resolution}`;
      at.error(reason, "protocol");
    }
  });
}

const DYNAMIC_PROTOCOLS: ReadonlySet<Protocol> = new Set(["HTTP", "HTTP2", "GRPC", "TLS"]);

function validateEndpoint(
  report: Report,
  endpoint: WorkloadEntrySpec,
  { ports, resolution }: ServiceEntrySpec,
  portNames: ReadonlySet<string>,
): void {
  const { address } = endpoint;
  if (resolution === "STATIC" && isUnixAddress(address)) {
    validateUnixEndpoint(report, endpoint);
    // The socket has no ports that would distinguish several.
    if (ports.length !== 1) report.error("exactly 1 service port required for unix endpoints", "address");
  } else if (resolution === "STATIC") {
    if (isIP(address) === 0 && !(address === "" && endpoint.network !== "")) {
      report.error(`endpoint address ${JSON.stringify(address)} is not a valid IP address`, "address");
    }
  } else if (!isIpOrFqdn(address)) {
    report.error(`endpoint address ${JSON.stringify(address)} is not a valid FQDN or an IP address`, "address");
  }
  if (!isUnixAddress(address)) {
    for (const [name, port] of Object.entries(endpoint.ports)) {
      report.error(
        portNames.has(name) ? undefined : `endpoint port ${port} is not defined by the service entry: ${name}`,
        "ports",
        name,
      );
      report.error(portProblem(port), "ports", name);
    }
  }
  validateLabels(report.at("labels"), endpoint.labels);
}
