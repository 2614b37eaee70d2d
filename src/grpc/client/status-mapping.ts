import type { GrpcStatusName } from "../../protocol/grpc-status-names.ts";

const BY_HTTP_STATUS: Readonly<Record<number, GrpcStatusName>> = {
  400: "INTERNAL",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "UNIMPLEMENTED",
  429: "UNAVAILABLE",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "UNAVAILABLE",
};

/** Error codes of RFC 9113, section 7; the index is the code. */
const HTTP2_ERROR_NAMES = [
  "NO_ERROR",
  "PROTOCOL_ERROR",
  "INTERNAL_ERROR",
  "FLOW_CONTROL_ERROR",
  "SETTINGS_TIMEOUT",
  "STREAM_CLOSED",
  "FRAME_SIZE_ERROR",
  "REFUSED_STREAM",
  "CANCEL",
  "COMPRESSION_ERROR",
  "CONNECT_ERROR",
  "ENHANCE_YOUR_CALM",
  "INADEQUATE_SECURITY",
  "HTTP_1_1_REQUIRED",
] as const;

const BY_RESET: Readonly<Record<string, GrpcStatusName>> = {
  REFUSED_STREAM: "UNAVAILABLE",
  CANCEL: "CANCELLED",
  ENHANCE_YOUR_CALM: "RESOURCE_EXHAUSTED",
  INADEQUATE_SECURITY: "PERMISSION_DENIED",
};

/** For answers of proxies and other HTTP servers that carry no grpc-status. */
export function statusOfHttp(httpStatus: number): GrpcStatusName {
  return BY_HTTP_STATUS[httpStatus] ?? "UNKNOWN";
}

/** For a stream that ended with RST_STREAM instead of trailers. */
export function statusOfReset(code: number): GrpcStatusName {
  return BY_RESET[http2ErrorName(code)] ?? "INTERNAL";
}

export function http2ErrorName(code: number): string {
  return HTTP2_ERROR_NAMES[code] ?? `unknown code ${code}`;
}
