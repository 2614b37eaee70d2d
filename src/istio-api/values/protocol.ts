/** What a port carries. `Unsupported` means unknown: the proxy sniffs the first bytes. */
export const PROTOCOLS = [
  "HTTP",
  "HTTP2",
  "HTTPS",
  "GRPC",
  "GRPC-Web",
  "HTTP_PROXY",
  "TCP",
  "TLS",
  "UDP",
  "Mongo",
  "Redis",
  "MySQL",
  "Unsupported",
] as const;

export type Protocol = (typeof PROTOCOLS)[number];

const BY_NAME: ReadonlyMap<string, Protocol> = new Map(PROTOCOLS.map((name) => [name.toLowerCase(), name]));

/** Case does not matter; an unknown or empty name is `Unsupported`. */
export function parseProtocol(name: string): Protocol {
  return BY_NAME.get(name.toLowerCase()) ?? "Unsupported";
}

export function isHttp(protocol: Protocol): boolean {
  return protocol === "HTTP" || protocol === "HTTP_PROXY" || isHttp2(protocol);
}

export function isHttp2(protocol: Protocol): boolean {
  return protocol === "HTTP2" || protocol === "GRPC" || protocol === "GRPC-Web";
}

export function isTls(protocol: Protocol): boolean {
  return protocol === "HTTPS" || protocol === "TLS";
}

export function isSniffed(protocol: Protocol): boolean {
  return protocol === "Unsupported";
}
