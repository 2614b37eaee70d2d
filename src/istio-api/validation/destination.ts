import type { Destination } from "../specs.ts";
import { portProblem } from "../values/address.ts";
import { isDnsLabel, wildcardDomainProblem } from "../values/dns-name.ts";
import { each, type Report } from "./report.ts";

/** Where a route leads. */
export function validateDestination(report: Report, destination: Destination | undefined): void {
  if (destination === undefined) {
    report.error("destination is required");
    return;
  }
  const { host, subset, port } = destination;
  if (host === "*") report.error(`invalid destination host ${host}`, "host");
  else report.error(wildcardDomainProblem(host), "host");
  if (subset !== "") report.error(subsetNameReason(subset), "subset");
  if (port !== undefined) report.error(portProblem(port.number), "port");
}

export function subsetNameReason(name: string): string | undefined {
  if (name === "") return "subset name cannot be empty";
  return isDnsLabel(name) ? undefined : `subset name is invalid: ${name}`;
}

interface Weighted {
  readonly destination?: Destination;
  readonly weight: number;
}

/** Destinations and their weights: none negative, and some traffic must go somewhere. */
export function validateWeighted<Of extends Weighted>(
  report: Report,
  routes: readonly Of[],
  check: (report: Report, route: Of) => void = () => undefined,
): void {
  each(report, "route", routes, (at, route) => {
    validateDestination(at.at("destination"), route.destination);
    at.error(route.weight < 0 ? `weight ${route.weight} < 0` : undefined, "weight");
    check(at, route);
  });
  const total = routes.reduce((sum, { weight }) => sum + weight, 0);
  if (routes.length > 1 && total === 0) report.error("total destination weight = 0", "route");
  if (total > 2 ** 32 - 1) report.error(`total destination weight ${total} is larger than 4294967295`, "route");
}
