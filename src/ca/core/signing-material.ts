import { createPublicKey, type KeyObject } from "node:crypto";
import { type Certificate, certificatePublicKey, parseCertificate } from "../../protocol/x509/certificate.ts";
import { DerReader } from "../../protocol/x509/der-reader.ts";
import { TAG } from "../../protocol/x509/der-writer.ts";
import { parsePrivateKey } from "../../protocol/x509/key-pair.ts";
import { encodePem, parsePem, parsePemCertificates } from "../../protocol/x509/pem.ts";
import { verifyBytes } from "../../protocol/x509/signature.ts";
import { verifyChain } from "../../protocol/x509/verify-chain.ts";
import { CaMaterialError } from "../ca-server-error.ts";

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
  /** Of an operator who revokes certificates. */
  readonly crlPem?: string | undefined;
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
    crlPem: texts.crl,
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

interface Crl {
  readonly issuer: Buffer;
  readonly body: Buffer;
  readonly algorithm: string;
  readonly signature: Buffer;
}

/** Envoy checks revocation for the whole chain once it has any CRL, so one must exist for every signer of the chain. */
function checkCrls(pem: string, signers: readonly Certificate[]): void {
  const crls = parseCrls(pem);
  const missing = signers.filter((signer) => !crls.some((crl) => isSignedBy(crl, signer)));
  if (missing.length === 0) return;
  const serials = missing.map((signer) => `serial ${signer.serial}`).join(", ");
  throw new CaMaterialError("missing-crl", `missing CRL signed by certificates: [${serials}]`);
}

function parseCrls(pem: string): Crl[] {
  try {
    return parsePem(pem)
      .filter((block) => block.type === "X509 CRL")
      .map((block) => parseCrl(block.der));
  } catch (cause) {
    throw new CaMaterialError("missing-crl", "the CRL file cannot be parsed", { cause });
  }
}

function parseCrl(der: Buffer): Crl {
  const parts = new DerReader(der).sequence();
  const body = parts.expect(TAG.sequence);
  const algorithm = parts.sequence().oid();
  const signature = parts.bitString();
  const fields = new DerReader(body.content);
  fields.optional(TAG.integer); // version
  fields.expect(TAG.sequence); // signature algorithm
  return { issuer: fields.expect(TAG.sequence).raw, body: body.raw, algorithm, signature };
}

function isSignedBy(crl: Crl, signer: Certificate): boolean {
  if (!crl.issuer.equals(signer.subject)) return false;
  return verifyBytes(crl.body, crl.signature, certificatePublicKey(signer), crl.algorithm);
}

/**
 * Whether a reload may replace the roots. A sudden new root would cut every workload off that still trusts the old one, so only a mesh
 * that distributes several roots may change them, and only by adding to or taking from the bundle.
 */
export function mayReplaceRoots(
  before: readonly Certificate[],
  after: readonly Certificate[],
  allowsSeveralRoots: boolean,
): boolean {
  const grows = isSubset(before, after);
  const shrinks = isSubset(after, before);
  if (grows && shrinks) return true;
  return allowsSeveralRoots && (grows || shrinks);
}

function isSubset(part: readonly Certificate[], whole: readonly Certificate[]): boolean {
  return part.every((one) => whole.some((other) => other.der.equals(one.der)));
}
