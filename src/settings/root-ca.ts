import { posix } from "node:path";
import { SYSTEM_ROOT_PATHS } from "../net/tls/system-roots.ts";
import { isGoogleCa, type SecurityConfig } from "./security.ts";
import { ISTIOD_ROOT, KUBERNETES_ROOT, MOUNTED_CERTS, SERVICE_ACCOUNT_ROOT } from "./well-known-paths.ts";

/** Where a root certificate is expected, or why there is none. "" is the system's, when the system has no bundle either. */
export type RootCa = { readonly path: string } | { readonly problem: string };

export type FileExists = (path: string) => boolean;

/** The system's bundle; undefined when none of the known places has one. */
export function systemRootCa(exists: FileExists): string | undefined {
  return SYSTEM_ROOT_PATHS.find(exists);
}

export interface XdsRootCaSources {
  /** XDS_ROOT_CA. */
  readonly configured: string;
  readonly security: Pick<
    SecurityConfig,
    "provCert" | "fileMountedCerts" | "pilotCertProvider" | "usesKubernetesRoots"
  >;
  /** ProxyConfig.proxyMetadata. */
  readonly proxyMetadata: Readonly<Record<string, string>>;
}

/** First match; every path but the VM's is checked, because there the CA client reports it with a better text. */
export function xdsRootCa({ configured, security, proxyMetadata }: XdsRootCaSources, exists: FileExists): RootCa {
  if (configured === "SYSTEM") return { path: systemRootCa(exists) ?? "" };
  if (configured !== "") return existing("XDS", configured, exists);
  if (exists(MOUNTED_CERTS.root)) return { path: MOUNTED_CERTS.root };
  if (security.usesKubernetesRoots) return kubernetesRoot("XDS", exists);
  if (security.provCert !== "") return { path: posix.join(security.provCert, "root-cert.pem") };
  if (security.fileMountedCerts) return existing("XDS", proxyMetadata.ISTIO_META_TLS_CLIENT_ROOT_CERT ?? "", exists);
  if (security.pilotCertProvider === "none") return required("XDS");
  return existing("XDS", ISTIOD_ROOT, exists);
}

export interface CaRootCaSources {
  /** CA_ROOT_CA. */
  readonly configured: string;
  readonly security: Pick<SecurityConfig, "caProvider" | "provCert" | "pilotCertProvider" | "usesKubernetesRoots">;
}

export function caRootCa({ configured, security }: CaRootCaSources, exists: FileExists): RootCa {
  if (configured === "SYSTEM") return { path: systemRootCa(exists) ?? "" };
  if (configured !== "") return existing("CA", configured, exists);
  if (isGoogleCa(security.caProvider)) return { path: "" };
  if (security.usesKubernetesRoots) return kubernetesRoot("CA", exists);
  if (security.pilotCertProvider === "custom") return existing("CA", MOUNTED_CERTS.root, exists);
  if (security.provCert !== "") return existing("CA", posix.join(security.provCert, "root-cert.pem"), exists);
  if (security.pilotCertProvider === "none") return required("CA");
  return existing("CA", ISTIOD_ROOT, exists);
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
