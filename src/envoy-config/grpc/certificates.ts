import type {
  CertificateProviderPluginInstance,
  CommonTlsContext,
} from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";

/** Names of the agent's gRPC bootstrap: the provider that reads the workload's certificate and the mesh's roots from files. */
const OWN: CertificateProviderPluginInstance = { instanceName: "default", certificateName: "default" };
const ROOTS: CertificateProviderPluginInstance = { instanceName: "default", certificateName: "ROOTCA" };

/**
 * Mutual TLS in gRPC's terms; older libraries read the older members. Peers of other names are refused when names are given: gRPC
 * knows only the untyped kind of matcher.
 */
export function providedTls(peerNames: readonly string[] = []): CommonTlsContext {
  return {
    tlsCertificateProviderInstance: OWN,
    tlsCertificateCertificateProviderInstance: OWN,
    combinedValidationContext: {
      defaultValidationContext: {
        caCertificateProviderInstance: ROOTS,
        ...(peerNames.length > 0 && {
          matchSubjectAltNames: [...new Set(peerNames)].sort().map((exact) => ({ exact })),
        }),
      },
      validationContextCertificateProviderInstance: ROOTS,
    },
  };
}
