import type { ConfigProblem } from "../istio-api/config-problem.ts";
import type { EnvReader } from "./env-reader.ts";
import type { GenerationRules } from "./generations.ts";
import { type CertificateFiles, GKE_WORKLOAD_CERTS, MOUNTED_CERTS } from "./well-known-paths.ts";

/** Where certificates and roots come from; the readers of identity and xDS both decide by it. */
export interface CertificateSources {
  /** PROV_CERT: directory of a machine's own certificate; "" for none. */
  readonly provCert: string;
  readonly pilotCertProvider: string;
  /** The cluster's own CA signs for control plane and CA. */
  readonly usesKubernetesRoots: boolean;
  /** No CA client: certificates come from the files below. */
  readonly fileMountedCerts: boolean;
  readonly certificateFiles: CertificateFiles;
}

/** Adds contradictions to `problems`. */
export function readCertificateSources(
  env: EnvReader,
  rules: GenerationRules,
  exists: (path: string) => boolean,
  problems: ConfigProblem[],
): CertificateSources {
  const provCert = env.string("PROV_CERT");
  const pilotCertProvider = env.string("PILOT_CERT_PROVIDER");
  const usesKubernetesRoots = rules.hasKubernetesRoots && pilotCertProvider === "kubernetes";
  const common = { provCert, pilotCertProvider, usesKubernetesRoots };
  if (env.string("CA_PROVIDER") === "GkeWorkloadCertificate") {
    const { chain, key, root } = GKE_WORKLOAD_CERTS;
    if (![chain, key, root].every(exists)) {
      const message = `GKE workload certificate files (${chain}, ${key}, ${root}) not present`;
      problems.push({ source: "environment variable CA_PROVIDER", message, value: "GkeWorkloadCertificate" });
    }
    if (provCert !== "")
      problems.push(
        exclusive("PROV_CERT and FILE_MOUNTED_CERTS of GKE workload cert are mutually exclusive", provCert),
      );
    return { ...common, fileMountedCerts: true, certificateFiles: GKE_WORKLOAD_CERTS };
  }
  const fileMountedCerts = env.bool("FILE_MOUNTED_CERTS");
  if (provCert !== "" && fileMountedCerts)
    problems.push(exclusive("PROV_CERT and FILE_MOUNTED_CERTS are mutually exclusive", provCert));
  return { ...common, fileMountedCerts, certificateFiles: MOUNTED_CERTS };
}

/** Both ways to provide certificates at once: whichever won would surprise. */
function exclusive(reason: string, value: string): ConfigProblem {
  return { source: "environment variable PROV_CERT", message: `invalid options: ${reason}`, value };
}
