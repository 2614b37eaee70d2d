import type { NodeTlsFiles } from "../../mesh-model/proxy/proxy-node.ts";
import type {
  CommonTlsContext,
  SubjectAltNameMatcher,
  TlsParameters,
} from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";
import { fileCertificateName, fileRootName, ROOT_SECRET, sdsSecret, WORKLOAD_SECRET } from "./sds.ts";

export interface WorkloadTlsOptions {
  /** Files that the proxy was told to use instead of the agent's certificates. */
  readonly files?: NodeTlsFiles | undefined;
  readonly alpnProtocols?: readonly string[] | undefined;
  /** Which peers are accepted; none: every holder of a certificate of the root. */
  readonly sans?: readonly SubjectAltNameMatcher[] | undefined;
  readonly cipherSuites?: readonly string[] | undefined;
  /** 1.2 without. */
  readonly minimumVersion?: TlsParameters["tlsMinimumProtocolVersion"] | undefined;
}

/** Both sides of mutual TLS inside the mesh: the workload's own certificate, and peers checked against the mesh's roots. */
export function workloadTls(options: WorkloadTlsOptions): CommonTlsContext {
  const { files, alpnProtocols, sans = [], cipherSuites, minimumVersion } = options;
  const certificate =
    files === undefined ? WORKLOAD_SECRET : fileCertificateName(files.certificateChain, files.privateKey);
  const root = files === undefined ? ROOT_SECRET : fileRootName(files.rootCertificate);
  return {
    tlsParams: {
      ...TLS_VERSIONS,
      ...(minimumVersion !== undefined && { tlsMinimumProtocolVersion: minimumVersion }),
      ...(cipherSuites !== undefined && { cipherSuites }),
    },
    ...(alpnProtocols !== undefined && alpnProtocols.length > 0 && { alpnProtocols }),
    tlsCertificateSdsSecretConfigs: [sdsSecret(certificate)],
    combinedValidationContext: {
      defaultValidationContext: sans.length === 0 ? {} : { matchTypedSubjectAltNames: sans },
      validationContextSdsSecretConfig: sdsSecret(root),
    },
  };
}

/** Said in both directions: Envoy's own upper bound for clients is 1.2. */
export const TLS_VERSIONS: TlsParameters = Object.freeze({
  tlsMinimumProtocolVersion: "TLSv1_2",
  tlsMaximumProtocolVersion: "TLSv1_3",
});
