import { createPublicKey, type KeyObject } from "node:crypto";
import { type Certificate, parseCertificate } from "../../protocol/x509/certificate.ts";
import { parsePrivateKey } from "../../protocol/x509/key-pair.ts";
import { encodePem, parsePemCertificates } from "../../protocol/x509/pem.ts";
import { verifyChain } from "../../protocol/x509/verify-chain.ts";
import { CaMaterialError } from "../ca-server-error.ts";
import { checkCrls } from "./crl.ts";

/** What a CA signs with and hands out, checked as a whole: a value of this type is usable. */
export interface SigningMaterial {
  readonly certificate: Certificate;
  readonly key: KeyObject;
  /** Certificates between leaf and root bundle, each as PEM with one newline at the end. */
  readonly chainPem: readonly string[];
  /** First certificate of the chain file, whose life limits the default TTL; undefined without a chain. */
  readonly chainHead: Certificate | undefined;
  /** The trust bundle as one text. */
  readonly rootPem: string;
  readonly roots: readonly Certificate[];
}

/** PEM texts as they stand in the files. */
export interface MaterialTexts {
  readonly certificate: string;
  readonly key: string;
  readonly chain: string;
  readonly root: string;
  readonly crl?: string | undefined;
}

/** Checks key, certificate, chain, roots and CRLs against each other. Throws a `CaMaterialError`. */
export function checkMaterial(texts: MaterialTexts, now: Date): SigningMaterial {
  const certificate = certificates(texts.certificate, "the signing certificate")[0];
  const roots = certificates(texts.root, "the root certificates");
  const chain = certificates(texts.chain, "the certificate chain");
  if (certificate === undefined || roots.length === 0) {
    throw new CaMaterialError("bad-certificate", "the signing certificate or the root bundle holds no certificate");
  }
  const verified = verifyChain(certificate, chain, roots, now);
  if (!verified.ok) {
    const text = `cannot verify the cert with the provided root chain and cert pool with error: ${verified.reason}`;
    throw new CaMaterialError("broken-chain", text);
  }
  if (!certificate.isCa) {
    throw new CaMaterialError("not-a-ca", "certificate is not authorized to sign other certificates");
  }
  const key = signingKey(texts.key, certificate);
  if (texts.crl !== undefined) checkCrls(texts.crl, verified.path);
  return {
    certificate,
    key,
    chainPem: chain.map((one) => encodePem("CERTIFICATE", one.der)),
    chainHead: chain[0],
    rootPem: texts.root,
    roots,
  };
}

function signingKey(pem: string, certificate: Certificate): KeyObject {
  let key: KeyObject;
  try {
    key = parsePrivateKey(pem);
  } catch (cause) {
    throw new CaMaterialError("bad-key", `failed to parse private key PEM: ${(cause as Error).message}`);
  }
  if (createPublicKey(key).export({ type: "spki", format: "der" }).equals(certificate.publicKeyDer)) return key;
  throw new CaMaterialError("key-mismatch", "the cert does not match the key: public keys differ");
}

function certificates(pem: string, what: string): Certificate[] {
  try {
    return parsePemCertificates(pem).map(parseCertificate);
  } catch (cause) {
    throw new CaMaterialError("bad-certificate", `${what} cannot be parsed: ${(cause as Error).message}`, { cause });
  }
}
