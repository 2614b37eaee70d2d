import { isHttp, isHttp2, isSniffed, type Protocol } from "../../istio-api/values/protocol.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { Http1ProtocolOptions } from "../../protobuf/gen/envoy/config/core/v3.ts";

/** For ports that may carry HTTP/1: names of headers are sent as they were received. */
export function headerCase(protocol: Protocol, isPreserved: boolean): Http1ProtocolOptions | undefined {
  return isPreserved && ((isHttp(protocol) && !isHttp2(protocol)) || isSniffed(protocol)) ? PRESERVED_CASE : undefined;
}

export const PRESERVED_CASE: Http1ProtocolOptions = Object.freeze({
  headerKeyFormat: {
    statefulFormatter: {
      name: "preserve_case",
      typedConfig: pack("envoy.extensions.http.header_formatters.preserve_case.v3.PreserveCaseFormatterConfig", {}),
    },
  },
});
