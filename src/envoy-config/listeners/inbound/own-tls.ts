import type { ServerTls } from "../../../istio-api/specs/common.ts";
import type { Protocol } from "../../../istio-api/values/protocol.ts";
import type { TransportSocket } from "../../../protobuf/gen/envoy/config/core/v3.ts";
import type {
  CertificateValidationContext,
  CommonTlsContext,
  TlsParameters,
} from "../../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";
import { fileCertificateName, fileRootName, sdsSecret, TLS_VERSIONS } from "../../tls/index.ts";
import { SERVER_ALPN } from "../alpn.ts";
import { SERVER_CIPHERS, tlsSocket } from "./downstream-tls.ts";

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
  return tlsSocket({ commonTlsContext, requireClientCertificate: tls.mode === "MUTUAL" });
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
