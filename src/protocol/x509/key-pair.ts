import { createPrivateKey, generateKeyPair as generate, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { Secret } from "../../base/secret.ts";
import { generateRsaKey } from "./rsa-key.ts";
import { X509Error } from "./x509-error.ts";

export type KeyOptions =
  | { readonly type: "rsa"; readonly bits: number }
  | { readonly type: "ecdsa"; readonly curve: "P256" | "P384" };

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const generateOnPool = promisify(generate);
const MIN_RSA_BITS = 2048;
const CURVES = { P256: "prime256v1", P384: "secp384r1" } as const;

/** Runs on libuv's thread pool: an RSA 4096 key takes seconds, and the event loop goes on meanwhile. */
export async function generateKeyPair(options: KeyOptions): Promise<KeyPair> {
  if (options.type === "ecdsa") return generateOnPool("ec", { namedCurve: CURVES[options.curve] });
  if (!Number.isInteger(options.bits) || options.bits < MIN_RSA_BITS) {
    const wanted = `(requested: ${options.bits})`;
    const text = `requested key size does not meet the minimum required size of ${MIN_RSA_BITS} ${wanted}`;
    throw new X509Error("bad-key", text);
  }
  // Two primes of the same length make an even number of bits; other lengths are as rare as they are odd.
  if (options.bits % 2 === 0) return generateRsaKey(options.bits);
  return generateOnPool("rsa", { modulusLength: options.bits, publicExponent: 65537 });
}

/** PKCS#8, or the key's traditional form: PKCS#1 for RSA, SEC 1 for elliptic curves. */
export function encodePrivateKey(key: KeyObject, pkcs8: boolean): Secret {
  const traditional = key.asymmetricKeyType === "rsa" ? "pkcs1" : key.asymmetricKeyType === "ec" ? "sec1" : "pkcs8";
  return new Secret(key.export({ type: pkcs8 ? "pkcs8" : traditional, format: "pem" }).toString());
}

/** Reads PKCS#1, SEC 1 and PKCS#8 PEM. The error says nothing of the input. */
export function parsePrivateKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // OpenSSL's reason (unsupported decoder, bad passphrase) confuses more than it helps, and the cause may quote the input.
    throw new X509Error("bad-key", "not a PEM private key (PKCS#1, SEC 1 or PKCS#8, not encrypted)");
  }
}
