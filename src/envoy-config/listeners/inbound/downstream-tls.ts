import type { MeshSettings } from "../../../mesh-model/mesh-settings.ts";
import type { NodeTlsFiles } from "../../../mesh-model/proxy/proxy-node.ts";
import { pack } from "../../../protobuf/envoy/index.ts";
import type { TransportSocket } from "../../../protobuf/gen/envoy/config/core/v3.ts";
import type { DownstreamTlsContext } from "../../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";
import { trustDomainSans, workloadTls } from "../../tls/index.ts";
import { SERVER_ALPN } from "../alpn.ts";

/** With forward secrecy first; those of TLS 1.3 need no naming. */
export const SERVER_CIPHERS = [
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "AES256-GCM-SHA384",
  "AES128-GCM-SHA256",
] as const;

/** The server's side of mutual TLS: every workload of the mesh's trust domains may call. */
export function meshTlsSocket(mesh: MeshSettings, files: NodeTlsFiles | undefined): TransportSocket {
  const { cipherSuites, minimumVersion } = mesh.meshMtls;
  return tlsSocket({
    commonTlsContext: workloadTls({
      files,
      alpnProtocols: SERVER_ALPN,
      sans: trustDomainSans([mesh.trustDomain, ...mesh.trustDomainAliases]),
      cipherSuites: cipherSuites.length > 0 ? cipherSuites : SERVER_CIPHERS,
      minimumVersion,
    }),
    requireClientCertificate: true,
  });
}

export function tlsSocket(context: DownstreamTlsContext): TransportSocket {
  return {
    name: "envoy.transport_sockets.tls",
    typedConfig: pack("envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext", context),
  };
}
