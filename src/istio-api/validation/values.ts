import { isIP } from "../../net/ip.ts";
import { parsePrefixOrIp } from "../../net/ip-prefix.ts";
import { parseProtoDuration } from "../../protobuf/proto-duration.ts";
import { portProblem } from "../values/address.ts";
import { fqdnProblem, isDnsLabel } from "../values/dns-name.ts";
import { durationProblem } from "../values/duration-problem.ts";
import { parseProtocol } from "../values/protocol.ts";

/** Rules of single values, shared by the kinds. Each gives the reason, or undefined when the value is fine. */

export function durationReason(text: string | undefined): string | undefined {
  return text === undefined ? undefined : durationProblem(parseProtoDuration(text));
}

/** Where zero, and less than a millisecond, has a meaning of its own; Envoy takes no negative one. */
export function nonNegativeDurationReason(text: string | undefined): string | undefined {
  return text?.startsWith("-") ? "duration must not be negative" : undefined;
}

export function nonNegativeReason(value: number | undefined, what: string): string | undefined {
  return value !== undefined && value < 0 ? `${what} must be non-negative` : undefined;
}

export function percentReason(value: number | undefined): string | undefined {
  return value === undefined || (value >= 0 && value <= 100) ? undefined : `percentage ${value} is not in range 0..100`;
}

export function portNameReason(name: string): string | undefined {
  return isDnsLabel(name) ? undefined : `invalid port name: ${name}`;
}

/** An empty protocol means that it is to be sniffed. */
export function protocolReason(name: string): string | undefined {
  const isKnown = name === "" || parseProtocol(name) !== "Unsupported" || name.toLowerCase() === "unknown";
  return isKnown ? undefined : `unsupported protocol: ${name}`;
}

/** An address, or a range in CIDR form. */
export function subnetReason(text: string): string | undefined {
  return parsePrefixOrIp(text) === undefined ? `${text} is not a valid CIDR block` : undefined;
}

/** `unix://` and an absolute path, or a name of the abstract namespace. */
export function unixAddressReason(address: string): string | undefined {
  const path = address.slice("unix://".length);
  if (path === "") return "unix address must not be empty";
  return path.startsWith("/") || path.startsWith("@") ? undefined : `${path} is not an absolute path`;
}

export function isIpOrFqdn(address: string): boolean {
  return isIP(address) !== 0 || fqdnProblem(address) === undefined;
}

export function optionalPortReason(port: number): string | undefined {
  return port === 0 ? undefined : portProblem(port);
}

export function sourceNamespaceReason(namespace: string): string | undefined {
  return namespace === "" || isDnsLabel(namespace) ? undefined : `sourceNamespace match ${namespace} is invalid`;
}
