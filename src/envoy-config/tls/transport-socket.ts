import { pack } from "../../protobuf/envoy/index.ts";
import type { ProxyProtocolConfig_Version, TransportSocket } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { UpstreamTlsContext } from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";

/** Envoy finds sockets by the type of their settings; this name is on every cluster of a mesh, so that it is a short one. */
export const RAW_BUFFER: TransportSocket = Object.freeze({
  name: "raw_buffer",
  typedConfig: pack("envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer", {}),
});

export function upstreamTlsSocket(context: UpstreamTlsContext): TransportSocket {
  return {
    name: "envoy.transport_sockets.tls",
    typedConfig: pack("envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", context),
  };
}

/** Tells the server the client's address in front of everything else on the connection. */
export function proxyProtocolSocket(
  version: ProxyProtocolConfig_Version,
  transportSocket: TransportSocket,
): TransportSocket {
  return {
    name: "envoy.transport_sockets.upstream_proxy_protocol",
    typedConfig: pack("envoy.extensions.transport_sockets.proxy_protocol.v3.ProxyProtocolUpstreamTransport", {
      config: { version },
      transportSocket,
    }),
  };
}
