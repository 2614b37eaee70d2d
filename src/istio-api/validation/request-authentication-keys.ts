import { createPublicKey, type JsonWebKey } from "node:crypto";

/** Why a text is not a key set, or undefined. Envoy refuses the whole listener for a set without any key that it can use. */
export function keySetReason(text: string): string | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // The text itself may be long, and is not repeated.
    return "not JSON";
  }
  const keys = typeof parsed === "object" && parsed !== null && "keys" in parsed ? parsed.keys : undefined;
  if (!Array.isArray(keys)) return "no list of keys";
  return keys.some(isUsable) ? undefined : "no key that can be used (RSA, EC P-256, P-384, P-521, OKP Ed25519, oct)";
}

/** `{"keys": []}`: whoever writes it wants no token to be accepted. */
export function isEmptyKeySet(text: string): boolean {
  return /^\s*\{\s*"keys"\s*:\s*\[\s*\]\s*\}\s*$/.test(text);
}

/** What `alg` may say, by the type of key. */
const ALGORITHMS: Readonly<Record<string, RegExp>> = {
  RSA: /^(RS|PS)(256|384|512)$/,
  EC: /^ES(256|384|512)$/,
  OKP: /^EdDSA$/,
  oct: /^HS(256|384|512)$/,
};
const CURVES = ["P-256", "P-384", "P-521", "Ed25519"];

function isUsable(key: unknown): boolean {
  if (typeof key !== "object" || key === null) return false;
  const jwk = key as JsonWebKey;
  const { kty, alg, crv, k } = jwk;
  const algorithm = Object.hasOwn(ALGORITHMS, String(kty)) ? ALGORITHMS[String(kty)] : undefined;
  if (algorithm === undefined || (alg !== undefined && !algorithm.test(String(alg)))) return false;
  if (kty === "oct") return typeof k === "string" && /^[-\w]+$/.test(k);
  if (kty !== "RSA" && !CURVES.includes(String(crv))) return false;
  try {
    createPublicKey({ key: jwk, format: "jwk" });
    return true;
  } catch {
    return false;
  }
}
