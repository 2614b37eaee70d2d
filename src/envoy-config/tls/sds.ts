import type { ConfigSource } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { SdsSecretConfig } from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";

/** Names under which the agent serves the workload's certificate and the roots of the mesh. */
export const WORKLOAD_SECRET = "default";
export const ROOT_SECRET = "ROOTCA";

/** A secret that the proxy asks its agent for. One value per name for the common ones, as every cluster has them. */
export function sdsSecret(name: string): SdsSecretConfig {
  if (name === WORKLOAD_SECRET) return WORKLOAD;
  if (name === ROOT_SECRET) return ROOT;
  return { name, sdsConfig: SDS_SOURCE };
}

/** The same without waiting for ever: one missing certificate must not keep a router's listener from serving others. */
export function patientSecret(name: string): SdsSecretConfig {
  return { name, sdsConfig: PATIENT_SOURCE };
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

const { initialFetchTimeout: _zero, ...PATIENT_SOURCE } = SDS_SOURCE;

const WORKLOAD: SdsSecretConfig = Object.freeze({ name: WORKLOAD_SECRET, sdsConfig: SDS_SOURCE });
const ROOT: SdsSecretConfig = Object.freeze({ name: ROOT_SECRET, sdsConfig: SDS_SOURCE });
