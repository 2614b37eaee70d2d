import { constants, verify } from "node:crypto";
import { promisify } from "node:util";
import type { Jwt } from "../../protocol/jwt.ts";
import type { VerificationKey } from "./jwks.ts";

interface Algorithm {
  readonly keyType: string;
  readonly curve?: string;
  readonly hash: string | null;
  readonly pss?: boolean;
}

/** Public-key algorithms only: "none" and the HMAC family have no place here, whatever a token's header claims. */
const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map([
  ["RS256", { keyType: "rsa", hash: "sha256" }],
  ["RS384", { keyType: "rsa", hash: "sha384" }],
  ["RS512", { keyType: "rsa", hash: "sha512" }],
  ["PS256", { keyType: "rsa", hash: "sha256", pss: true }],
  ["PS384", { keyType: "rsa", hash: "sha384", pss: true }],
  ["PS512", { keyType: "rsa", hash: "sha512", pss: true }],
  ["ES256", { keyType: "ec", curve: "prime256v1", hash: "sha256" }],
  ["ES384", { keyType: "ec", curve: "secp384r1", hash: "sha384" }],
  ["ES512", { keyType: "ec", curve: "secp521r1", hash: "sha512" }],
  ["EdDSA", { keyType: "ed25519", hash: null }],
]);

export type SignatureResult = "valid" | "invalid" | "unknown-key" | "unsupported-algorithm";

const verifyOnPool = promisify(verify);

/** "unknown-key" means that the token names a key that is not in the list: a newer list may have it. Verifies on the thread pool. */
export async function checkJwtSignature(jwt: Jwt, keys: readonly VerificationKey[]): Promise<SignatureResult> {
  const { alg, kid } = jwt.header;
  const algorithm = typeof alg === "string" ? ALGORITHMS.get(alg) : undefined;
  if (algorithm === undefined) return "unsupported-algorithm";
  const named = keys.filter((one) => kid === undefined || one.keyId === undefined || one.keyId === kid);
  if (named.length === 0) return "unknown-key";
  const fitting = named.filter((one) => fits(one, algorithm) && (one.algorithm ?? alg) === alg);
  for (const one of fitting) if (await isSigned(jwt, one, algorithm)) return "valid";
  return "invalid";
}

function fits({ key }: VerificationKey, algorithm: Algorithm): boolean {
  if (key.asymmetricKeyType !== algorithm.keyType) return false;
  return algorithm.curve === undefined || key.asymmetricKeyDetails?.namedCurve === algorithm.curve;
}

async function isSigned(jwt: Jwt, { key }: VerificationKey, algorithm: Algorithm): Promise<boolean> {
  const options = algorithm.pss
    ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    : { key, dsaEncoding: "ieee-p1363" as const };
  try {
    return await verifyOnPool(algorithm.hash, Buffer.from(jwt.signed), options, jwt.signature);
  } catch {
    return false;
  }
}
