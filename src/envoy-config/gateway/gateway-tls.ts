import type { ServerTls } from "../../istio-api/specs.ts";
import type { TlsDefaults } from "../../mesh-model/mesh-settings.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { TransportSocket } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type {
  CertificateValidationContext,
  CommonTlsContext,
  DownstreamTlsContext,
  TlsParameters,
} from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";
import { SERVER_ALPN } from "../shared/alpn.ts";
import { serverTlsSocket, tlsVersions } from "../tls/server-tls.ts";
import {
  credentialSecret,
  exactSans,
  fileCertificateName,
  fileRootName,
  ROOT_SECRET,
  sdsSecretWithTimeout,
  WORKLOAD_SECRET,
} from "../tls/workload-tls.ts";

/** TLS that a router ends with the certificates that the server names. The mesh's defaults are not for TLS inside the mesh. */
export function gatewayTlsSocket(tls: ServerTls, defaults: TlsDefaults): TransportSocket {
  return serverTlsSocket(gatewayTlsContext(tls, defaults, SERVER_ALPN));
}

/** The same certificates for HTTP/3. */
export function gatewayQuicSocket(tls: ServerTls, defaults: TlsDefaults): TransportSocket {
  return {
    name: "envoy.transport_sockets.quic",
    typedConfig: pack("envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport", {
      downstreamTlsContext: gatewayTlsContext(tls, defaults, ["h3"]),
    }),
  };
}

function gatewayTlsContext(
  tls: ServerTls,
  defaults: TlsDefaults,
  alpnProtocols: readonly string[],
): DownstreamTlsContext {
  const { minProtocolVersion, maxProtocolVersion, cipherSuites } = tls;
  const tlsParams = {
    ...(tls.mode !== "ISTIO_MUTUAL" && defaultParams(defaults)),
    ...tlsVersions(minProtocolVersion, maxProtocolVersion),
    ...(cipherSuites.length > 0 && { cipherSuites: [...new Set(cipherSuites)] }),
  };
  const commonTlsContext: CommonTlsContext = {
    ...(Object.keys(tlsParams).length > 0 && { tlsParams }),
    alpnProtocols,
    tlsCertificateSdsSecretConfigs: certificates(tls),
    ...validation(tls),
  };
  const requireClientCertificate = tls.mode === "MUTUAL" || tls.mode === "ISTIO_MUTUAL";
  return { commonTlsContext, requireClientCertificate };
}

function defaultParams({ ecdhCurves, cipherSuites, minimumVersion }: TlsDefaults): TlsParameters {
  return {
    ...(ecdhCurves.length > 0 && { ecdhCurves }),
    ...(cipherSuites.length > 0 && { cipherSuites }),
    ...(minimumVersion !== undefined && { tlsMinimumProtocolVersion: minimumVersion }),
  };
}

/** Names of stored credentials that the server asks for. */
function credentialsOf({ credentialName, credentialNames }: ServerTls): readonly string[] {
  return credentialName === "" ? credentialNames : [credentialName];
}

function certificates(tls: ServerTls) {
  if (tls.mode === "ISTIO_MUTUAL") return [sdsSecretWithTimeout(WORKLOAD_SECRET)];
  const stored = credentialsOf(tls);
  if (stored.length > 0) return stored.map((name) => credentialSecret(name));
  const files = tls.tlsCertificates.length > 0 ? tls.tlsCertificates : [tls];
  return files.map(({ serverCertificate, privateKey }) =>
    sdsSecretWithTimeout(fileCertificateName(serverCertificate, privateKey)),
  );
}

function validation(tls: ServerTls): CommonTlsContext {
  if (tls.mode === "SIMPLE") return {};
  return {
    combinedValidationContext: {
      defaultValidationContext: clientRules(tls),
      validationContextSdsSecretConfig: clientRoots(tls),
    },
  };
}

function clientRoots(tls: ServerTls) {
  if (tls.mode === "ISTIO_MUTUAL") return sdsSecretWithTimeout(ROOT_SECRET);
  if (tls.caCertCredentialName !== "") return credentialSecret(tls.caCertCredentialName);
  const [stored] = credentialsOf(tls);
  return stored === undefined
    ? sdsSecretWithTimeout(fileRootName(tls.caCertificates))
    : credentialSecret(stored, "-cacert");
}

function clientRules(tls: ServerTls): CertificateValidationContext {
  const { subjectAltNames, verifyCertificateSpki, verifyCertificateHash, caCrl } = tls;
  return {
    ...(subjectAltNames.length > 0 && { matchTypedSubjectAltNames: exactSans(subjectAltNames) }),
    ...(verifyCertificateSpki.length > 0 && { verifyCertificateSpki }),
    ...(verifyCertificateHash.length > 0 && { verifyCertificateHash }),
    ...(caCrl !== "" && { crl: { filename: caCrl } }),
  };
}
