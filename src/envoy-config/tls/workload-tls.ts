import { compareText } from "../../istio-api/config-object.ts";
import type { NodeTlsFiles } from "../../mesh-model/proxy/proxy-node.ts";
import { isIP } from "../../net/ip.ts";
import { constantMessage } from "../../protobuf/envoy/index.ts";
import type { ConfigSource } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type {
  CommonTlsContext,
  SdsSecretConfig,
  SubjectAltNameMatcher,
  SubjectAltNameMatcher_SanType,
  TlsParameters,
} from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";

interface WorkloadTlsOptions {
  /** Files that replace the agent's certificates at the proxy. */
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
    tlsParams:
      minimumVersion === undefined && cipherSuites === undefined
        ? TLS_VERSIONS
        : {
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
export const TLS_VERSIONS = constantMessage<TlsParameters>({
  tlsMinimumProtocolVersion: "TLSv1_2",
  tlsMaximumProtocolVersion: "TLSv1_3",
});

/** One of these names exactly; sorted and each once, so that equal sets give equal bytes. */
export function exactSans(names: Iterable<string>): readonly SubjectAltNameMatcher[] {
  return [...new Set(names)]
    .toSorted(compareText)
    .map((name) => ({ sanType: sanType(name), matcher: { exact: name } }));
}

/** Any workload of one of the trust domains. */
export function trustDomainSans(trustDomains: Iterable<string>): readonly SubjectAltNameMatcher[] {
  return [...new Set(trustDomains)].map((domain) => ({
    sanType: "URI",
    matcher: { prefix: `spiffe://${domain}/` },
  }));
}

/** An identity is also accepted under each of the other names that the mesh gives trust domains. */
export function withTrustDomainAliases(names: readonly string[], aliases: readonly string[]): readonly string[] {
  if (aliases.length === 0) return names;
  return names.flatMap((name) => {
    const [, path] = WORKLOAD_ID.exec(name) ?? [];
    return path === undefined ? [name] : [name, ...aliases.map((alias) => `spiffe://${alias}${path}`)];
  });
}

const WORKLOAD_ID = /^spiffe:\/\/[^/]+(\/ns\/[^/]+\/sa\/[^/]+)$/;

function sanType(name: string): SubjectAltNameMatcher_SanType {
  if (name.includes("://")) return "URI";
  return isIP(name) === 0 ? "DNS" : "IP_ADDRESS";
}

/** Names under which the agent serves the workload's certificate and the roots of the mesh. */
export const WORKLOAD_SECRET = "default";
export const ROOT_SECRET = "ROOTCA";

/** A secret that the proxy asks its agent for. One value per name for the common ones, as every cluster has them. */
export function sdsSecret(name: string): SdsSecretConfig {
  if (name === WORKLOAD_SECRET) return WORKLOAD_CONFIG;
  if (name === ROOT_SECRET) return ROOT_CONFIG;
  return { name, sdsConfig: SDS_SOURCE };
}

/** The same without waiting for ever: one missing certificate must not keep a router's listener from serving others. */
export function sdsSecretWithTimeout(name: string): SdsSecretConfig {
  return { name, sdsConfig: SDS_SOURCE_WITH_TIMEOUT };
}

/** A credential that a control plane keeps; a name with a scheme says itself where. */
export function credentialSecret(credentialName: string, suffix = ""): SdsSecretConfig {
  const name = credentialName.includes("://") ? credentialName : `kubernetes://${credentialName}`;
  return { name: `${name}${suffix}`, sdsConfig: { ads: {}, resourceApiVersion: "V3" } };
}

/** The agent reads both files and watches them. */
export function fileCertificateName(certificateChain: string, privateKey: string): string {
  return `file-cert:${certificateChain}~${privateKey}`;
}

/** Without a file: the roots of the proxy's operating system. */
export function fileRootName(rootCertificate: string): string {
  return `file-root:${rootCertificate === "" ? "system" : rootCertificate}`;
}

/** Zero: a cluster or listener waits for its certificate instead of starting without it. */
const SDS_SOURCE = Object.freeze<ConfigSource>({
  apiConfigSource: {
    apiType: "GRPC",
    transportApiVersion: "V3",
    setNodeOnFirstMessageOnly: true,
    // The static cluster of the bootstrap that points at the agent's SDS socket.
    grpcServices: [{ envoyGrpc: { clusterName: "sds-grpc" } }],
  },
  initialFetchTimeout: "0s",
  resourceApiVersion: "V3",
});

const { initialFetchTimeout: _zero, ...SDS_SOURCE_WITH_TIMEOUT } = SDS_SOURCE;

const WORKLOAD_CONFIG = constantMessage<SdsSecretConfig>({ name: WORKLOAD_SECRET, sdsConfig: SDS_SOURCE });
const ROOT_CONFIG = constantMessage<SdsSecretConfig>({ name: ROOT_SECRET, sdsConfig: SDS_SOURCE });
