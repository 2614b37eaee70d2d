import { posix } from "node:path";
import { SYSTEM_ROOT_PATHS } from "../net/tls/system-roots.ts";
import type { CertificateSources } from "./certificate-sources.ts";
import { ISTIOD_ROOT, KUBERNETES_ROOT, MOUNTED_CERTS, SERVICE_ACCOUNT_ROOT } from "./well-known-paths.ts";

/** Where a root certificate is expected, or why there is none. "" is the system's, when the system has no bundle either. */
export type RootCa = { readonly path: string } | { readonly problem: string };

export type FileExists = (path: string) => boolean;

/** The system's bundle; undefined when none of the known paths has one. */
export function systemRootCa(exists: FileExists): string | undefined {
  return SYSTEM_ROOT_PATHS.find(exists);
}

export interface XdsRootCaSources {
  /** XDS_ROOT_CA. */
  readonly configured: string;
  readonly sources: Omit<CertificateSources, "certificateFiles">;
  /** ProxyConfig.proxyMetadata. */
  readonly proxyMetadata: Readonly<Record<string, string>>;
}

/** First match; every path but the VM's is checked, because there the CA client reports it with a better text. */
export function xdsRootCa({ configured, sources, proxyMetadata }: XdsRootCaSources, exists: FileExists): RootCa {
  if (configured === "SYSTEM") return { path: systemRootCa(exists) ?? "" };
  if (configured !== "") return existing("XDS", configured, exists);
  if (exists(MOUNTED_CERTS.root)) return { path: MOUNTED_CERTS.root };
  if (sources.usesKubernetesRoots) return kubernetesRoot("XDS", exists);
  if (sources.provCert !== "") return { path: posix.join(sources.provCert, "root-cert.pem") };
  if (sources.fileMountedCerts) return existing("XDS", proxyMetadata.ISTIO_META_TLS_CLIENT_ROOT_CERT ?? "", exists);
  if (sources.pilotCertProvider === "none") return required("XDS");
  return existing("XDS", ISTIOD_ROOT, exists);
}

export interface CaRootCaSources {
  /** CA_ROOT_CA. */
  readonly configured: string;
  readonly provider: string;
  readonly sources: Omit<CertificateSources, "certificateFiles" | "fileMountedCerts">;
}

export function caRootCa({ configured, provider, sources }: CaRootCaSources, exists: FileExists): RootCa {
  if (configured === "SYSTEM") return { path: systemRootCa(exists) ?? "" };
  if (configured !== "") return existing("CA", configured, exists);
  if (isGoogleCa(provider)) return { path: "" };
  if (sources.usesKubernetesRoots) return kubernetesRoot("CA", exists);
  if (sources.pilotCertProvider === "custom") return existing("CA", MOUNTED_CERTS.root, exists);
  if (sources.provCert !== "") return existing("CA", posix.join(sources.provCert, "root-cert.pem"), exists);
  if (sources.pilotCertProvider === "none") return required("CA");
  return existing("CA", ISTIOD_ROOT, exists);
}

/** Google's CAs have certificates that the system trusts, and accept federated tokens only. */
export function isGoogleCa(provider: string): boolean {
  return provider === "GoogleCA" || provider === "GoogleCAS";
}

/** What the control plane copied into the pod's namespace, else what every service account has. */
function kubernetesRoot(server: "XDS" | "CA", exists: FileExists): RootCa {
  return exists(KUBERNETES_ROOT) ? { path: KUBERNETES_ROOT } : existing(server, SERVICE_ACCOUNT_ROOT, exists);
}

function existing(server: "XDS" | "CA", path: string, exists: FileExists): RootCa {
  return exists(path) ? { path } : { problem: `root CA file for ${server} does not exist ${path}` };
}

function required(server: "XDS" | "CA"): RootCa {
  return { problem: `root CA file for ${server} required but configured provider as none` };
}
