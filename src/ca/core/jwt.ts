import { constants, createPublicKey, type JsonWebKey, type KeyObject, verify } from "node:crypto";
import { promisify } from "node:util";
import { type Jwt, jwtAudiences, jwtExpiry } from "../../protocol/jwt.ts";
import { workloadIdentity } from "../../protocol/x509/spiffe-id.ts";

interface Algorithm {
  readonly keyType: string;
  readonly curve?: string;
  readonly hash: string | null;
  readonly pss?: boolean;
}

/** Public-key algorithms only: "none" and the HMAC family are refused, regardless of the token's header. */
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

interface ClaimRules {
  readonly issuer: string;
  /** One of them must be among the token's; empty: it does not matter. */
  readonly audiences: readonly string[];
  readonly trustDomain: string;
}

type ClaimResult = { readonly ok: true; readonly identity: string } | { readonly ok: false; readonly reason: string };

const SUBJECT = /^system:serviceaccount:([^:]+):([^:]+)$/;
/** What the SPIFFE ID standard (section 2.2) allows in a path segment: with a slash, a token could name another identity's path. */
const PATH_SEGMENT = /^(?!\.\.?$)[A-Za-z0-9._-]+$/;
/** A token may come from a machine whose clock is ahead; one that is over is over. */
const NOT_BEFORE_LEEWAY_SECONDS = 300;

/** Who the claims of a service account token name, if they hold now. */
export function checkClaims(claims: Jwt["claims"], rules: ClaimRules, now: Date): ClaimResult {
  const seconds = now.getTime() / 1000;
  const expiry = jwtExpiry(claims);
  if (claims.iss !== rules.issuer) return refused("the token has another issuer");
  if (expiry === undefined) return refused("the token has no expiry");
  if (expiry <= seconds) return refused("the token has expired");
  if (typeof claims.nbf === "number" && claims.nbf > seconds + NOT_BEFORE_LEEWAY_SECONDS) {
    return refused("the token is not valid yet");
  }
  const [, namespace, account] = SUBJECT.exec(typeof claims.sub === "string" ? claims.sub : "") ?? [];
  if (namespace === undefined || account === undefined) return refused("invalid sub");
  if (![namespace, account].every((part) => PATH_SEGMENT.test(part))) {
    const allowed = "letters, digits, '.', '_' and '-'";
    return refused(`invalid sub ${JSON.stringify(claims.sub)}: namespace and service account may have ${allowed}`);
  }
  const audiences = jwtAudiences(claims);
  if (rules.audiences.length > 0 && !audiences.some((one) => rules.audiences.includes(one))) {
    return refused("invalid audiences");
  }
  return { ok: true, identity: workloadIdentity(rules.trustDomain, namespace, account) };
}

function refused(reason: string): ClaimResult {
  return { ok: false, reason };
}

/** One usable verification key of a JWKS. */
export interface VerificationKey {
  readonly keyId: string | undefined;
  /** The only algorithm it may be used with; undefined: whichever fits its type. */
  readonly algorithm: string | undefined;
  readonly key: KeyObject;
}

const MIN_RSA_BITS = 2048;

/** The signing keys of a JWKS document. Keys of unknown kinds are skipped, as RFC 7517 asks; undefined when it is not a JWKS at all. */
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
