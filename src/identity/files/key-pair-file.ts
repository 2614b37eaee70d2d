import { createPrivateKey, X509Certificate } from "node:crypto";
import { SecretError } from "../secret-error.ts";
import { readCertificateFile } from "./read-file.ts";

export interface KeyPairFiles {
  readonly certificate: Buffer;
  readonly key: Buffer;
}

/** Both files, checked to belong together. Rejects with a `SecretError` while they do not: a writer may be half done. */
export async function readKeyPairFiles(certificatePath: string, keyPath: string): Promise<KeyPairFiles> {
  const [certificate, key] = await Promise.all([readCertificateFile(certificatePath), readCertificateFile(keyPath)]);
  checkKeyPair(certificate, key);
  return { certificate, key };
}

/** Throws unless the first certificate of the chain is for this key. The messages quote no input. */
export function checkKeyPair(certificate: Buffer, key: Buffer): X509Certificate {
  if (!certificate.includes("-----BEGIN CERTIFICATE-----"))
    fail("tls: failed to find any PEM data in certificate input");
  if (!key.includes("-----BEGIN ")) fail("tls: failed to find any PEM data in key input");
  const leaf = attempt(() => new X509Certificate(certificate), "x509: malformed certificate");
  const privateKey = attempt(() => createPrivateKey(key), "tls: failed to parse private key");
  if (!leaf.checkPrivateKey(privateKey)) fail("tls: private key does not match public key");
  return leaf;
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
