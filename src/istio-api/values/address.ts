import { quoteGo } from "../../base/go-quote.ts";
import { goIntProblem, parseGoInt } from "../../base/parse-go-scalar.ts";
import { splitHostPort } from "../../net/host-port.ts";
import { isIP } from "../../net/ip.ts";
import { fqdnProblem } from "./dns-name.ts";

/** Undefined for `host:port` with a port from 1 to 65535 and a domain name or IP literal; otherwise the reason. */
export function addressProblem(text: string): string | undefined {
  const split = splitHostPort(text);
  if ("problem" in split) return `unable to split ${quoteGo(text)}: ${split.problem}`;
  const port = parseGoInt(split.port);
  if (port === undefined) return `port (${split.port}) is not a number: ${goIntProblem(split.port)}`;
  const range = portProblem(port);
  if (range !== undefined) return range;
  if (fqdnProblem(split.host) === undefined || isIP(split.host) !== 0) return undefined;
  return `${quoteGo(split.host)} is not a valid hostname or an IP address`;
}

export function isUnixAddress(address: string): boolean {
  return address.startsWith("unix://");
}

export function portProblem(port: number): string | undefined {
  return port >= 1 && port <= 65535 ? undefined : `port number ${port} must be in the range 1..65535`;
}
