import type { WorkloadEntrySpec } from "../specs.ts";
import { isUnixAddress, portProblem } from "../values/address.ts";
import { validateLabels } from "./labels.ts";
import type { Report } from "./report.ts";
import { isIpOrFqdn, portNameReason, unixAddressReason } from "./values.ts";

/** A workload outside any platform. */
export function validateWorkloadEntry(report: Report, entry: WorkloadEntrySpec): void {
  const { address, ports, network } = entry;
  if (address === "") report.error(network === "" ? "address is required" : undefined, "address");
  else if (isUnixAddress(address)) validateUnixEndpoint(report, entry);
  else if (!isIpOrFqdn(address)) {
    report.error(`endpoint address ${JSON.stringify(address)} is not a valid FQDN or an IP address`, "address");
  }
  for (const [name, port] of Object.entries(ports)) {
    report.error(portNameReason(name), "ports", name);
    report.error(portProblem(port), "ports", name);
  }
  validateLabels(report.at("labels"), entry.labels);
}

export function validateUnixEndpoint(report: Report, { address, ports }: WorkloadEntrySpec): void {
  report.error(unixAddressReason(address), "address");
  if (Object.keys(ports).length > 0) report.error(`unix endpoint ${address} must not include ports`, "ports");
}
