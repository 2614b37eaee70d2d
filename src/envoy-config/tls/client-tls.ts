import type { ClientTls } from "../../istio-api/specs.ts";
import type { TlsDefaults } from "../../mesh-model/mesh-settings.ts";
import { constantMessage, pack } from "../../protobuf/envoy/index.ts";
import type { ProxyProtocolConfig_Version, TransportSocket } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type {
  CommonTlsContext,
  UpstreamTlsContext,
} from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";
import {
  credentialSecret,
  exactSans,
  fileCertificateName,
  fileRootName,
  sdsSecret,
  TLS_VERSIONS,
} from "./workload-tls.ts";

/** TLS to a server outside the mesh, by the files that a rule names (modes SIMPLE and MUTUAL). */
export function originatedTls(
  tls: ClientTls,
  { sans, alpnProtocols, defaults: { ecdhCurves, cipherSuites } = NO_DEFAULTS }: OriginationOptions,
): CommonTlsContext {
  return {
    tlsParams: {
      ...TLS_VERSIONS,
      ...(ecdhCurves.length > 0 && { ecdhCurves }),
      ...(cipherSuites.length > 0 && { cipherSuites }),
    },
    ...(alpnProtocols.length > 0 && { alpnProtocols }),
    ...(tls.mode === "MUTUAL" && {
      tlsCertificateSdsSecretConfigs: [
        tls.credentialName === ""
          ? sdsSecret(fileCertificateName(tls.clientCertificate, tls.privateKey))
          : credentialSecret(tls.credentialName),
      ],
    }),
    ...validation(tls, sans),
  };
}

interface OriginationOptions {
  readonly sans: readonly string[];
  readonly alpnProtocols: readonly string[];
  readonly defaults?: TlsDefaults | undefined;
}

const NO_DEFAULTS: TlsDefaults = { ecdhCurves: [], cipherSuites: [] };

/** Why a rule's TLS settings cannot be followed by such a proxy; undefined when they can. */
export function refusedTls(tls: ClientTls, type: "sidecar" | "router" = "sidecar"): string | undefined {
  if (tls.mode !== "SIMPLE" && tls.mode !== "MUTUAL") return undefined;
  if (tls.credentialName !== "") {
    if (type === "router") return undefined;
    return `tls.credentialName ${JSON.stringify(tls.credentialName)} cannot be used: a sidecar has no access to stored credentials; name files with caCertificates, clientCertificate and privateKey`;
  }
  if (tls.mode === "MUTUAL" && (tls.clientCertificate === "" || tls.privateKey === "")) {
    return "tls.mode MUTUAL needs clientCertificate and privateKey";
  }
  return undefined;
}

/** For settings that cannot be followed: no certificate has this hash, so that nothing is sent, and least of all in plaintext. */
export const NO_TLS: CommonTlsContext = Object.freeze({
  tlsParams: TLS_VERSIONS,
  validationContext: { verifyCertificateHash: ["0".repeat(64)] },
});

function validation(tls: ClientTls, sans: readonly string[]): CommonTlsContext {
  if (tls.insecureSkipVerify === true) return { validationContext: {} };
  return {
    combinedValidationContext: {
      defaultValidationContext: {
        ...(sans.length > 0 && { matchTypedSubjectAltNames: exactSans(sans) }),
        ...(tls.caCrl !== "" && { crl: { filename: tls.caCrl } }),
      },
      validationContextSdsSecretConfig:
        tls.credentialName === ""
          ? sdsSecret(fileRootName(tls.caCertificates))
          : credentialSecret(tls.credentialName, "-cacert"),
    },
  };
}

/** Envoy finds sockets by the type of their settings; this name is on every cluster of a mesh, so that it is a short one. */
export const RAW_BUFFER = constantMessage<TransportSocket>({
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
