import { constants, createHmac, createPublicKey, type JsonWebKey, verify } from "node:crypto";

interface Key extends JsonWebKey {
  readonly kid?: string;
  readonly alg?: string;
}

const HASHES = { "256": "sha256", "384": "sha384", "512": "sha512" } as const;
const ALGORITHM = /^(RS|PS|ES|HS)(256|384|512)$/;

/** Why no key of the set signed the token; undefined when one did. */
export function signatureProblem(
  token: string,
  header: { readonly alg: string; readonly kid: string },
  keySet: string,
): string | undefined {
  const keys = parseKeys(keySet);
  if (keys === undefined) return "the key set is not one";
  const fitting = keys.filter(({ kid = "", alg = "" }) => {
    const isNamed = header.kid === "" || kid === "" || kid === header.kid;
    return isNamed && (alg === "" || alg === header.alg);
  });
  if (fitting.length === 0) return "Jwks doesn't have key to match kid or alg from Jwt";
  return fitting.some((key) => isSignedBy(token, header.alg, key)) ? undefined : "Jwt verification fails";
}

function parseKeys(keySet: string): readonly Key[] | undefined {
  try {
    const { keys } = JSON.parse(keySet) as { readonly keys?: readonly Key[] };
    return Array.isArray(keys) ? keys : undefined;
  } catch {
    return undefined;
  }
}

function isSignedBy(token: string, alg: string, key: Key): boolean {
  const at = token.lastIndexOf(".");
  const [text, signature] = [Buffer.from(token.slice(0, at)), Buffer.from(token.slice(at + 1), "base64url")];
  try {
    if (alg === "EdDSA") return verify(null, text, createPublicKey({ key, format: "jwk" }), signature);
    const [, family, size] = ALGORITHM.exec(alg) ?? [];
    const hash = HASHES[size as keyof typeof HASHES];
    if (family === undefined || hash === undefined) return false;
    if (family === "HS") {
      const secret = Buffer.from(key.k ?? "", "base64url");
      return createHmac(hash, secret).update(text).digest().equals(signature);
    }
    const publicKey = createPublicKey({ key, format: "jwk" });
    const padding = family === "PS" ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: -1 } : {};
    const encoding = family === "ES" ? { dsaEncoding: "ieee-p1363" as const } : {};
    return verify(hash, text, { key: publicKey, ...padding, ...encoding }, signature);
  } catch {
    // A key of another kind than the algorithm has signed nothing.
    return false;
  }
}
