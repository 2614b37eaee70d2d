import type { ServerTls } from "../../istio-api/specs.ts";
import type { Protocol } from "../../istio-api/values/protocol.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { NodeTlsFiles } from "../../mesh-model/proxy/proxy-node.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { TransportSocket } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type {
  CertificateValidationContext,
  CommonTlsContext,
  DownstreamTlsContext,
  TlsParameters,
} from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";
import { SERVER_ALPN } from "../shared/alpn.ts";
import {
  fileCertificateName,
  fileRootName,
  sdsSecret,
  TLS_VERSIONS,
  trustDomainSans,
  workloadTls,
} from "./workload-tls.ts";

/** With forward secrecy first; those of TLS 1.3 need no naming. */
const SERVER_CIPHERS = [
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
  return serverTlsSocket({
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

export function serverTlsSocket(context: DownstreamTlsContext): TransportSocket {
  return {
    name: "envoy.transport_sockets.tls",
    typedConfig: pack("envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext", context),
  };
}

/** TLS with the certificates that a Sidecar's ingress listener names; undefined where it leaves TLS to the application. */
export function ownTlsSocket(tls: ServerTls): TransportSocket | undefined {
  const { serverCertificate, privateKey } = tls;
  if (tls.mode === "PASSTHROUGH" || tls.mode === "AUTO_PASSTHROUGH") return undefined;
  const checksClient = tls.mode === "MUTUAL" || tls.mode === "OPTIONAL_MUTUAL";
  const commonTlsContext: CommonTlsContext = {
    tlsParams: tlsParams(tls),
    alpnProtocols: SERVER_ALPN,
    tlsCertificateSdsSecretConfigs: [sdsSecret(fileCertificateName(serverCertificate, privateKey))],
    ...(checksClient && {
      combinedValidationContext: {
        defaultValidationContext: clientRules(tls),
        validationContextSdsSecretConfig: sdsSecret(fileRootName(tls.caCertificates)),
      },
    }),
  };
  return serverTlsSocket({ commonTlsContext, requireClientCertificate: tls.mode === "MUTUAL" });
}

/** What is inside, once TLS is ended. */
export function afterTls(protocol: Protocol): Protocol {
  if (protocol === "HTTPS") return "HTTP";
  return protocol === "TLS" ? "TCP" : protocol;
}

function clientRules(tls: ServerTls): CertificateValidationContext {
  const { verifyCertificateSpki, verifyCertificateHash, caCrl } = tls;
  return {
    ...(verifyCertificateSpki.length > 0 && { verifyCertificateSpki }),
    ...(verifyCertificateHash.length > 0 && { verifyCertificateHash }),
    ...(caCrl !== "" && { crl: { filename: caCrl } }),
  };
}

const VERSIONS = { TLSV1_0: "TLSv1_0", TLSV1_1: "TLSv1_1", TLSV1_2: "TLSv1_2", TLSV1_3: "TLSv1_3" } as const;

function tlsParams({ minProtocolVersion, maxProtocolVersion, cipherSuites }: ServerTls): TlsParameters {
  return {
    ...TLS_VERSIONS,
    ...tlsVersions(minProtocolVersion, maxProtocolVersion),
    cipherSuites: cipherSuites.length > 0 ? cipherSuites : SERVER_CIPHERS,
  };
}

/** Only what is said; for the rest Envoy has its own. */
export function tlsVersions(min: ServerTls["minProtocolVersion"], max: ServerTls["maxProtocolVersion"]): TlsParameters {
  return {
    ...(min !== "TLS_AUTO" && { tlsMinimumProtocolVersion: VERSIONS[min] }),
    ...(max !== "TLS_AUTO" && { tlsMaximumProtocolVersion: VERSIONS[max] }),
  };
}
