import { type KeyObject, sign, verify } from "node:crypto";
import { promisify } from "node:util";
import { nullValue, sequence } from "./der-writer.ts";
import { OID, OID_DER, type OidName } from "./oids.ts";
import { X509Error } from "./x509-error.ts";

/** How a key signs: the hash (null where the algorithm brings its own) and the AlgorithmIdentifier. */
export interface SignatureAlgorithm {
  readonly hash: string | null;
  readonly identifier: Buffer;
}

const signOnPool = promisify(sign);
const verifyOnPool = promisify(verify);

const algorithm = (name: OidName, hash: string | null): SignatureAlgorithm => {
  // RSA identifiers carry a NULL parameter; the others none.
  const isRsa = name.endsWith("Rsa");
  return { hash, identifier: isRsa ? sequence(OID_DER[name], nullValue()) : sequence(OID_DER[name]) };
};

const RSA = algorithm("sha256WithRsa", "sha256");
const ED25519 = algorithm("ed25519", null);
const BY_CURVE: Readonly<Record<string, SignatureAlgorithm>> = {
  prime256v1: algorithm("ecdsaWithSha256", "sha256"),
  secp384r1: algorithm("ecdsaWithSha384", "sha384"),
  secp521r1: algorithm("ecdsaWithSha512", "sha512"),
};

const VERIFIED: ReadonlyMap<string, { readonly keyType: string; readonly hash: string | null }> = new Map([
  [OID.sha256WithRsa, { keyType: "rsa", hash: "sha256" }],
  [OID.sha384WithRsa, { keyType: "rsa", hash: "sha384" }],
  [OID.sha512WithRsa, { keyType: "rsa", hash: "sha512" }],
  [OID.ecdsaWithSha256, { keyType: "ec", hash: "sha256" }],
  [OID.ecdsaWithSha384, { keyType: "ec", hash: "sha384" }],
  [OID.ecdsaWithSha512, { keyType: "ec", hash: "sha512" }],
  [OID.ed25519, { keyType: "ed25519", hash: null }],
]);

export function signatureAlgorithm(key: KeyObject): SignatureAlgorithm {
  const curve = key.asymmetricKeyDetails?.namedCurve ?? "";
  const found = key.asymmetricKeyType === "rsa" ? RSA : key.asymmetricKeyType === "ed25519" ? ED25519 : BY_CURVE[curve];
  if (found === undefined) throw new X509Error("bad-key", `cannot sign with a ${key.asymmetricKeyType} key ${curve}`);
  return found;
}

/** Signs on the thread pool. */
export function signBytes(data: Buffer, key: KeyObject): Promise<Buffer> {
  return signOnPool(signatureAlgorithm(key).hash, data, key);
}

/** False for a wrong signature, an unknown algorithm and one that does not fit the key. */
export function verifyBytes(data: Buffer, signature: Buffer, key: KeyObject, algorithmOid: string): boolean {
  const hash = hashFor(key, algorithmOid);
  if (hash === undefined) return false;
  try {
    return verify(hash, data, key, signature);
  } catch {
    return false;
  }
}

/** The same on the thread pool, for servers. */
export async function verifyBytesOnPool(
  data: Buffer,
  signature: Buffer,
  key: KeyObject,
  algorithmOid: string,
): Promise<boolean> {
  const hash = hashFor(key, algorithmOid);
  if (hash === undefined) return false;
  try {
    return await verifyOnPool(hash, data, key, signature);
  } catch {
    return false;
  }
}

/** Undefined when the algorithm is unknown or for another type of key. */
function hashFor(key: KeyObject, algorithmOid: string): string | null | undefined {
  const known = VERIFIED.get(algorithmOid);
  return known?.keyType === key.asymmetricKeyType ? known?.hash : undefined;
}
