import { createSecureContext, type SecureContextOptions } from "node:tls";
import { CodedError } from "../../base/coded-error.ts";

export class TlsPolicyError extends CodedError<"unsupported"> {}

const FIPS_CIPHERS = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
];

const LIMITS: Readonly<Record<string, SecureContextOptions>> = {
  "fips-140-2": { minVersion: "TLSv1.2", maxVersion: "TLSv1.2", ciphers: FIPS_CIPHERS.join(":"), ecdhCurve: "P-256" },
  "fips-140-3": {
    minVersion: "TLSv1.2",
    maxVersion: "TLSv1.3",
    ciphers: ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", ...FIPS_CIPHERS].join(":"),
    ecdhCurve: "P-256:P-384",
  },
  pqc: { minVersion: "TLSv1.3", ecdhCurve: "X25519MLKEM768" },
};

/** What a COMPLIANCE_POLICY allows. Throws where this runtime's OpenSSL cannot do it, so that the start fails and not a handshake. */
export function tlsLimits(policy: string): SecureContextOptions {
  const limits = LIMITS[policy];
  if (limits === undefined) return { minVersion: "TLSv1.2" };
  try {
    // Without roots of its own a context reads all of node's, which takes longer than the rest of the start.
    createSecureContext({ ...limits, ca: [] });
  } catch (cause) {
    const text = `COMPLIANCE_POLICY ${policy} needs ${limits.ecdhCurve}, which OpenSSL ${process.versions.openssl} does not have`;
    throw new TlsPolicyError("unsupported", text, { cause });
  }
  return limits;
}
