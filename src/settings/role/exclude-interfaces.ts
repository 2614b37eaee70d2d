import type { Logger } from "../../base/logger.ts";
import { interfaceAddresses, type NetworkInterfaces } from "./discover-addresses.ts";

export const EXCLUDE_INTERFACES = "traffic.sidecar.istio.io/excludeInterfaces";

/** Removes the addresses of the interfaces the annotation lists. Blanks around the names do not matter. */
export function excludeInterfaces(
  addresses: readonly string[],
  annotation: string | undefined,
  networkInterfaces: NetworkInterfaces,
  log: Logger,
): readonly string[] {
  if (annotation === undefined || annotation === "") return addresses;
  // Interfaces of secondary networks carry addresses that must not be announced to the mesh.
  const excluded = new Set<string>();
  for (const name of annotation.split(",").map((part) => part.trim())) {
    if (name === "") continue;
    const found = interfaceAddresses(networkInterfaces, name);
    if (found === undefined) log.warn(`Unable to get interface ${name}: route ip+net: no such network interface`);
    for (const address of found ?? []) excluded.add(address);
  }
  log.info(`Exclude IPs [${[...excluded].sort().join(" ")}] based on ${EXCLUDE_INTERFACES} annotation`);
  return addresses.filter((address) => !excluded.has(address));
}
