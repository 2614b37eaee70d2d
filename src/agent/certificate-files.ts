import { createPrivateKey, X509Certificate } from "node:crypto";
import { errorCode } from "../base/coded-error.ts";
import { readTextLimitedSync } from "../files/read-file-sync.ts";

/** Files that Envoy reads at its start only. A chain and its key make sense together. */
export interface CertificateFileSet {
  readonly files: readonly string[];
  readonly pairs: readonly { readonly chain: string; readonly key: string }[];
}

export function joinCertificateFiles(sets: readonly CertificateFileSet[]): CertificateFileSet {
  return { files: [...new Set(sets.flatMap(({ files }) => files))], pairs: sets.flatMap(({ pairs }) => pairs) };
}

/** Empty names are left out. */
export function certificateFileSet(chain: string, key: string, others: readonly string[]): CertificateFileSet {
  const files = [chain, key, ...others].filter((path) => path !== "");
  return { files, pairs: chain === "" || key === "" ? [] : [{ chain, key }] };
}

/** The files that the TLS contexts of an Envoy configuration name, in the spelling of YAML and of protobuf's JSON. */
export function certificateFilesOf(configuration: unknown): CertificateFileSet {
  if (typeof configuration !== "object" || configuration === null) return { files: [], pairs: [] };
  const members = configuration as Readonly<Record<string, unknown>>;
  const named = (...names: readonly string[]) => names.map((name) => fileName(members[name])).find(Boolean) ?? "";
  const own = certificateFileSet(named("certificate_chain", "certificateChain"), named("private_key", "privateKey"), [
    named("trusted_ca", "trustedCa"),
    named("crl"),
    named("pkcs12"),
    named("ocsp_staple", "ocspStaple"),
  ]);
  return joinCertificateFiles([own, ...Object.values(members).map(certificateFilesOf)]);
}

function fileName(source: unknown): string {
  if (typeof source !== "object" || source === null || !("filename" in source)) return "";
  return typeof source.filename === "string" ? source.filename : "";
}

/** The first pair whose files do not belong together: one of them is still to be written. Pairs that are missing as a whole are none. */
export function unmatchedPair({ pairs }: CertificateFileSet): { chain: string; key: string } | undefined {
  return pairs.find(({ chain, key }) => {
    try {
      const certificate = new X509Certificate(readTextLimitedSync(chain));
      return !certificate.checkPrivateKey(createPrivateKey(readTextLimitedSync(key)));
    } catch (failure) {
      // An encrypted key cannot be compared; Envoy has its passphrase.
      if (errorCode(failure) === "ERR_MISSING_PASSPHRASE") return false;
      return exists(chain) || exists(key);
    }
  });
}

function exists(path: string): boolean {
  try {
    readTextLimitedSync(path);
    return true;
  } catch {
    return false;
  }
}
