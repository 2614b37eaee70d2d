import { isJsonObject } from "../../base/json-object.ts";

/** What a proxy configuration in proto3 JSON form says of the case of HTTP/1 header names; undefined when it is none. */
export function keepsHeaderCase(proxyConfig: unknown): boolean | undefined {
  if (!isJsonObject(proxyConfig)) return undefined;
  const { proxyHeaders } = proxyConfig;
  return isJsonObject(proxyHeaders) && proxyHeaders.preserveHttp1HeaderCase === true;
}
