import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";

/** One usable verification key of a JWKS. */
export interface VerificationKey {
  readonly keyId: string | undefined;
  /** The only algorithm it may be used with; undefined: whichever fits its type. */
  readonly algorithm: string | undefined;
  readonly key: KeyObject;
}

const MIN_RSA_BITS = 2048;

/** The signing keys of a JWKS document. Keys of unknown kinds are skipped, as RFC 7517 asks; undefined when it is no JWKS at all. */
export function parseJwks(text: string): readonly VerificationKey[] | undefined {
  try {
    const document: unknown = JSON.parse(text);
    const keys = typeof document === "object" && document !== null && "keys" in document ? document.keys : undefined;
    return Array.isArray(keys) ? keys.flatMap(verificationKey) : undefined;
  } catch {
    return undefined;
  }
}

function verificationKey(entry: unknown): VerificationKey[] {
  if (typeof entry !== "object" || entry === null) return [];
  const jwk = entry as Readonly<Record<string, unknown>>;
  if (jwk.use !== undefined && jwk.use !== "sig") return [];
  try {
    // A JWKS may be written with its private halves; only the public part is ever used.
    const key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
    const bits = key.asymmetricKeyDetails?.modulusLength;
    if (bits !== undefined && bits < MIN_RSA_BITS) return [];
    const text = (value: unknown) => (typeof value === "string" ? value : undefined);
    return [{ keyId: text(jwk.kid), algorithm: text(jwk.alg), key }];
  } catch {
    return [];
  }
}
