import { generateKeyPair, type KeyOptions, type KeyPair } from "../protocol/x509/key-pair.ts";
import { SecretError } from "./secret-error.ts";

/** What the environment asked for; an unknown algorithm fails each request, not the start. */
export type WorkloadKeyOptions = KeyOptions | { readonly type: "unsupported-ec-algorithm" };

/** Larger ones take minutes to make, during which the process cannot end, and many TLS libraries refuse them. */
const MAX_RSA_BITS = 8192;

/** Off the main thread. Start it with the process: an RSA key takes longer than the rest of the start together. */
export async function generateWorkloadKey(options: WorkloadKeyOptions): Promise<KeyPair> {
  if (options.type === "unsupported-ec-algorithm") {
    throw new SecretError("not-issued", "csr cert generation fails due to unsupported EC signature algorithm");
  }
  if (options.type === "rsa" && options.bits > MAX_RSA_BITS) {
    const text = `requested key size exceeds the maximum of ${MAX_RSA_BITS} (requested: ${options.bits})`;
    throw new SecretError("not-issued", text);
  }
  return generateKeyPair(options);
}
