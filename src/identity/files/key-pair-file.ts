import { createPrivateKey, X509Certificate } from "node:crypto";
import { SecretError } from "../secret-error.ts";
import { readCertificateFile } from "./read-file.ts";

export interface KeyPairFiles {
  readonly certificate: Buffer;
  readonly key: Buffer;
}

/** What some editors put in front of a text. OpenSSL skips it, Envoy's TLS library does not. */
const BYTE_ORDER_MARK = Buffer.from("\ufeff");
const BLOCK_TYPE = /-----BEGIN ([^\n-]{1,64})-----/g;
/** Those that Envoy's TLS library knows; it has no keys that are bound to one padding either. */
const CURVES: ReadonlySet<string> = new Set(["secp224r1", "prime256v1", "secp384r1", "secp521r1"]);

/** Both files, checked to belong together. Rejects with a `SecretError` while they do not: a writer may be half done. */
export async function readKeyPairFiles(certificatePath: string, keyPath: string): Promise<KeyPairFiles> {
  const [certificate, key] = await Promise.all([readText(certificatePath), readText(keyPath)]);
  checkKeyPair(certificate, key);
  return { certificate, key };
}

async function readText(path: string): Promise<Buffer> {
  const bytes = await readCertificateFile(path);
  const isMarked = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  return isMarked ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
}

/** Throws unless the first certificate of the chain is for this key. The messages quote no input. */
export function checkKeyPair(certificate: Buffer, key: Buffer): X509Certificate {
  if (!certificate.includes("-----BEGIN CERTIFICATE-----")) fail(noCertificate(certificate));
  if (!key.includes("-----BEGIN ")) fail("tls: failed to find any PEM data in key input");
  const leaf = attempt(() => new X509Certificate(certificate), "x509: malformed certificate");
  const privateKey = attempt(() => createPrivateKey(key), "tls: failed to parse private key");
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = privateKey;
  if (type === "rsa-pss") fail("tls: failed to parse private key");
  if (type === "ec" && !CURVES.has(details?.namedCurve ?? "")) fail("x509: unsupported elliptic curve");
  const certified = attempt(() => leaf.publicKey.asymmetricKeyType, "x509: malformed certificate");
  if (certified !== type) fail("tls: private key type does not match public key type");
  if (!leaf.checkPrivateKey(privateKey)) fail("tls: private key does not match public key");
  return leaf;
}

function noCertificate(certificate: Buffer): string {
  const types = [...certificate.toString("latin1").matchAll(BLOCK_TYPE)].map(([, type]) => type).slice(0, 8);
  if (types.length === 0) return "tls: failed to find any PEM data in certificate input";
  const skipped = `after skipping PEM blocks of the following types: [${types.join(" ")}]`;
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input ${skipped}`;
}

function attempt<Value>(read: () => Value, text: string): Value {
  try {
    return read();
  } catch {
    return fail(text); // without the cause: OpenSSL's may describe the key
  }
}

function fail(text: string): never {
  throw new SecretError("bad-file", text);
}
