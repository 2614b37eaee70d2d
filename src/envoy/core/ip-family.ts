/** Addresses come from configuration that was already checked, so the separators tell the families apart. */
export function isIPv4(address: string): boolean {
  return address.includes(".") && !address.includes(":");
}

/** Where Envoy's admin listens: ::1 only on nodes whose every address is IPv6. */
export function loopbackOf(nodeIps: readonly string[]): "127.0.0.1" | "::1" {
  return nodeIps.length > 0 && !nodeIps.some(isIPv4) ? "::1" : "127.0.0.1";
}
