import type { SecurityConfig } from "../config/index.ts";
import type { WorkloadKeyOptions } from "../identity/index.ts";

/** The key that the security options ask for. */
export function workloadKeyOptions(security: SecurityConfig): WorkloadKeyOptions {
  if (security.eccSignatureAlgorithm === "") return { type: "rsa", bits: security.rsaKeySize };
  if (security.eccSignatureAlgorithm !== "ECDSA") return { type: "unsupported-ec-algorithm" };
  return { type: "ecdsa", curve: security.eccCurve === "P384" ? "P384" : "P256" };
}

/** The SPIFFE id of this workload. */
export function workloadSpiffeId({ trustDomain, namespace, serviceAccount }: SecurityConfig): string {
  return `spiffe://${trustDomain}/ns/${namespace}/sa/${serviceAccount}`;
}
