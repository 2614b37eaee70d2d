import { parsePort, splitHostPort } from "../../net/host-port.ts";
import { BootstrapError } from "../bootstrap-error.ts";

export interface SocketAddress {
  readonly address: string;
  readonly port_value: number;
}

const HOST_IP = "$(HOST_IP)";

/**
 * `host:port` of a ProxyConfig field. A host that is exactly `$(HOST_IP)` becomes the host's address when that is known. `parameter`
 * names the value in the error.
 */
export function parseSocketAddress(parameter: string, value: string, hostIp: string | undefined): SocketAddress {
  const split = splitHostPort(value);
  if ("problem" in split) throw unparsable(parameter, value, split.problem);
  const { host } = split;
  const port = parsePort(split.port);
  if (port === undefined) throw unparsable(parameter, value, `port "${split.port}" is not a number from 0 to 65535`);
  return { address: host === HOST_IP && hostIp ? hostIp : host, port_value: port };
}

/** The host of `host:port`, brackets stripped; text without a port is a host already. */
export function hostOf(address: string): string {
  const split = splitHostPort(address);
  if (!("problem" in split)) return split.host;
  const bare = /^\[([^\]]*)\]?$/.exec(address)?.[1];
  return bare ?? (address.indexOf(":") === address.lastIndexOf(":") ? (address.split(":")[0] ?? "") : address);
}

function unparsable(parameter: string, value: string, reason: string): BootstrapError {
  return new BootstrapError("invalid-address", `unable to parse ${parameter} address "${value}": ${reason}`);
}
