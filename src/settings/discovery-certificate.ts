import { existsSync } from "node:fs";
import type { Logger } from "../base/logger.ts";
import type { ServingFiles } from "./discovery-settings.ts";
import type { FlagValues } from "./flag-values.ts";

/** Where the serving certificate comes from; `none`: xDS is not served over TLS. */
export type CertificateSource = "authority" | "none" | ServingFiles;

const TLS = "./var/run/secrets/istiod/tls";
/** Looked at in this order when no flag names files. */
const USUAL: readonly ServingFiles[] = ["./var/run/secrets/istiod/ca/root-cert.pem", `${TLS}/ca.crt`].map((ca) => ({
  certificate: `${TLS}/tls.crt`,
  key: `${TLS}/tls.key`,
  ca,
}));

/** Files of the flags, files in their usual place, then what `PILOT_CERT_PROVIDER` says. */
export function readCertificateSource(
  flags: FlagValues,
  provider: string,
  log: Logger,
  exists: (path: string) => boolean = existsSync,
): CertificateSource {
  const files = ofFlags(flags) ?? USUAL.find((candidate) => Object.values(candidate).every(exists));
  if (files !== undefined) return files;
  if (provider === "istiod") return "authority";
  if (provider === "kubernetes" || provider.startsWith("k8s.io/")) {
    throw new Error(
      `PILOT_CERT_PROVIDER is ${JSON.stringify(provider)}, which needs Kubernetes; allowed are istiod (the own CA) and none`,
    );
  }
  log.warn("no serving certificate: xDS is not served over TLS", { PILOT_CERT_PROVIDER: provider });
  return "none";
}

function ofFlags(flags: FlagValues): ServingFiles | undefined {
  const files = {
    certificate: flags.string("tlsCertFile"),
    key: flags.string("tlsKeyFile"),
    ca: flags.string("caCertFile"),
  };
  const given = Object.values(files).filter((path) => path !== "").length;
  if (given === 0) return undefined;
  if (given === 3) return files;
  throw new Error("--tlsCertFile, --tlsKeyFile and --caCertFile go together: give all three or none");
}
