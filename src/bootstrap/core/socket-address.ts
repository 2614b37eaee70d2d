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
  if (typeof split === "string") throw unparsable(parameter, value, split);
  const { host, port } = split;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65535) {
    throw unparsable(parameter, value, `port "${port}" is not a number from 0 to 65535`);
  }
  return { address: host === HOST_IP && hostIp ? hostIp : host, port_value: Number(port) };
}

/** The host of `host:port`, brackets stripped; text without a port is a host already. */
export function hostOf(address: string): string {
  const split = splitHostPort(address);
  if (typeof split !== "string") return split.host;
  const bare = /^\[([^\]]*)\]?$/.exec(address)?.[1];
  return bare ?? (address.indexOf(":") === address.lastIndexOf(":") ? (address.split(":")[0] ?? "") : address);
}

/** Go's net.SplitHostPort; a string result is its reason. */
export function splitHostPort(value: string): { readonly host: string; readonly port: string } | string {
  const reason = (text: string) => (value === "" ? text : `address ${value}: ${text}`);
  const last = value.lastIndexOf(":");
  if (last < 0) return reason("missing port in address");
  if (value.startsWith("[")) {
    const end = value.indexOf("]");
    if (end < 0) return reason("missing ']' in address");
    if (end + 1 === value.length) return reason("missing port in address");
    if (end + 1 !== last)
      return reason(value[end + 1] === ":" ? "too many colons in address" : "missing port in address");
    return unbracketed(value.slice(1, end), value.slice(last + 1), reason);
  }
  const host = value.slice(0, last);
  if (host.includes(":")) return reason("too many colons in address");
  return unbracketed(host, value.slice(last + 1), reason);
}

function unbracketed(
  host: string,
  port: string,
  reason: (text: string) => string,
): { host: string; port: string } | string {
  if (host.includes("[") || port.includes("[")) return reason("unexpected '[' in address");
  if (host.includes("]") || port.includes("]")) return reason("unexpected ']' in address");
  return { host, port };
}

function unparsable(parameter: string, value: string, reason: string): BootstrapError {
  return new BootstrapError("invalid-address", `unable to parse ${parameter} address "${value}": ${reason}`);
}
