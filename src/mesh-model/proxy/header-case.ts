/** What a proxy configuration in proto3 JSON form says of the case of HTTP/1 header names; undefined when it is none. */
export function keepsHeaderCase(proxyConfig: unknown): boolean | undefined {
  if (!isRecord(proxyConfig)) return undefined;
  const { proxyHeaders } = proxyConfig;
  return isRecord(proxyHeaders) && proxyHeaders.preserveHttp1HeaderCase === true;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
