import { createPublicKey, type KeyObject, sign } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { Secret } from "../base/secret.ts";
import { encodePrivateKey, generateKeyPair, parsePrivateKey } from "../protocol/x509/key-pair.ts";
import type { JwtRule } from "./authenticators/jwt.ts";
import { CaMaterialError } from "./ca-server-error.ts";
import { createOnce, keepPrivate, makePrivateDirectory, replaceMaterial } from "./material/create-once.ts";
import { readText } from "./material/plugged-in.ts";

/** Signs service account tokens with a key of the CA's directory, for use without any Kubernetes. */
export interface DevelopmentIssuer {
  readonly rule: JwtRule;
  readonly jwksPath: string;
  /** A token for the service account, as a projected volume would hold it. */
  issue(account: { readonly namespace: string; readonly name: string }, lifetimeSeconds: number): Promise<Secret>;
}

const DEVELOPMENT_ISSUER = "pilot-agent-ca";
const DEVELOPMENT_AUDIENCE = "istio-ca";
const KEY_FILE = "token-key.pem";
const JWKS_FILE = "jwks.json";
const KEY_ID = "token-key";
const signAsync = promisify(sign);

/** Loads the token key of the directory or makes it, and writes its JWKS beside it. */
export async function openDevelopmentIssuer(
  directory: string,
  options: { readonly issuer?: string; readonly now?: () => number } = {},
): Promise<DevelopmentIssuer> {
  const { issuer = DEVELOPMENT_ISSUER, now = Date.now } = options;
  await makePrivateDirectory(directory);
  const key = await loadOrCreateKey(join(directory, KEY_FILE));
  const jwk = createPublicKey(key).export({ format: "jwk" });
  const jwks = `${JSON.stringify({ keys: [{ ...jwk, kid: KEY_ID, alg: "ES256", use: "sig" }] }, null, 1)}\n`;
  const jwksPath = join(directory, JWKS_FILE);
  if ((await readText(jwksPath)) !== jwks) await replaceMaterial(jwksPath, jwks, 0o644);
  return {
    rule: { issuer, audiences: [DEVELOPMENT_AUDIENCE], jwks },
    jwksPath,
    issue: async (account, lifetimeSeconds) => {
      const issuedAt = Math.floor(now() / 1000);
      const claims = {
        iss: issuer,
        sub: `system:serviceaccount:${account.namespace}:${account.name}`,
        aud: [DEVELOPMENT_AUDIENCE],
        iat: issuedAt,
        nbf: issuedAt,
        exp: issuedAt + lifetimeSeconds,
      };
      return signToken(claims, key);
    },
  };
}

async function loadOrCreateKey(path: string): Promise<KeyObject> {
  if ((await readText(path)) === undefined) {
    const { privateKey } = await generateKeyPair({ type: "ecdsa", curve: "P256" });
    await createOnce(path, encodePrivateKey(privateKey, true).reveal(), 0o600);
  }
  await keepPrivate(path);
  try {
    return parsePrivateKey((await readText(path)) ?? "");
  } catch (cause) {
    throw new CaMaterialError("bad-key", `${path}: failed to parse private key PEM`, { cause });
  }
}

async function signToken(claims: object, key: KeyObject): Promise<Secret> {
  const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${segment({ alg: "ES256", typ: "JWT", kid: KEY_ID })}.${segment(claims)}`;
  const signature = await signAsync("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return new Secret(`${signed}.${signature.toString("base64url")}`);
}
