import type { KeyObject } from "node:crypto";
import { DerReader } from "./der-reader.ts";
import { bitString, context, sequence, set, smallInteger, TAG } from "./der-writer.ts";
import { extension, parseExtensions, type X509Extension } from "./extension.ts";
import { buildGeneralNames, type GeneralName, parseGeneralNames } from "./general-names.ts";
import type { KeyPair } from "./key-pair.ts";
import { buildName, type NameParts, parseName } from "./name.ts";
import { OID, OID_DER } from "./oids.ts";
import { encodePem, parsePem } from "./pem.ts";
import { parsePublicKey } from "./public-key.ts";
import { signatureAlgorithm, signBytes, verifyBytesOnPool } from "./signature.ts";
import { X509Error } from "./x509-error.ts";

export interface CsrSubject {
  /** Subject alternative names in order: SPIFFE URIs, DNS names, IP literals. */
  readonly hosts: readonly string[];
  /** Signers that check strictly accept only `O=""` or nothing. */
  readonly name?: NameParts;
}

/** What a request says; nothing of it is proven. */
export interface CsrContents {
  /** The key's SubjectPublicKeyInfo as it stands in the request. */
  readonly publicKeyDer: Buffer;
  readonly names: readonly GeneralName[];
  readonly subject: readonly { readonly oid: string; readonly value: string }[];
  readonly hasCommonName: boolean;
  readonly extensions: readonly X509Extension[];
}

/** A request whose sender has the private key. */
export interface VerifiedCsr extends CsrContents {
  readonly publicKey: KeyObject;
}

const CSR_PEM = "CERTIFICATE REQUEST";

/** A PKCS#10 request in PEM whose only attribute is the extension request with one critical SAN extension. */
export async function buildCsr(keys: KeyPair, subject: CsrSubject): Promise<string> {
  const names = extension("subjectAltName", buildGeneralNames(subject.hosts), true);
  const attribute = sequence(OID_DER.extensionRequest, set(sequence(names)));
  const info = sequence(
    smallInteger(0),
    buildName(subject.name ?? { organization: "" }),
    keys.publicKey.export({ type: "spki", format: "der" }),
    context(0, attribute),
  );
  const { identifier } = signatureAlgorithm(keys.privateKey);
  const signature = await signBytes(info, keys.privateKey);
  return encodePem(CSR_PEM, sequence(info, identifier, bitString(signature)));
}

/** Takes a request apart. The signature is not looked at: see `verifyCsr` for a stranger's. Throws an `X509Error`, code "bad-csr". */
export function parseCsr(pem: string): CsrContents {
  return decode(pem).contents;
}

/** Takes a request apart and checks its signature, on the thread pool. Rejects with an `X509Error`, code "bad-csr". */
export async function verifyCsr(pem: string): Promise<VerifiedCsr> {
  const { contents, body, algorithm, signature } = decode(pem);
  let publicKey: KeyObject;
  try {
    publicKey = parsePublicKey(contents.publicKeyDer);
  } catch (cause) {
    throw unparseable(cause);
  }
  if (await verifyBytesOnPool(body, signature, publicKey, algorithm)) return { ...contents, publicKey };
  throw new X509Error("bad-csr", "certificate signing request has an invalid signature");
}

interface SignedCsr {
  readonly contents: CsrContents;
  /** What the signature covers. */
  readonly body: Buffer;
  readonly algorithm: string;
  readonly signature: Buffer;
}

function decode(pem: string): SignedCsr {
  const der = csrBytes(pem);
  try {
    const whole = new DerReader(der);
    const parts = whole.sequence();
    whole.end();
    const info = parts.expect(TAG.sequence);
    const algorithm = parts.sequence().oid();
    const signature = parts.bitString();
    parts.end();
    return { contents: parseInfo(info.content), body: info.raw, algorithm, signature };
  } catch (cause) {
    throw unparseable(cause);
  }
}

function unparseable(cause: unknown): X509Error {
  return new X509Error("bad-csr", "failed to parse X.509 certificate signing request", { cause });
}

function csrBytes(pem: string): Buffer {
  const broken = "certificate signing request is not properly encoded";
  try {
    const block = parsePem(pem)[0];
    if (block?.type === CSR_PEM || block?.type === `NEW ${CSR_PEM}`) return block.der;
  } catch (cause) {
    throw new X509Error("bad-csr", broken, { cause });
  }
  throw new X509Error("bad-csr", broken);
}

function parseInfo(content: Buffer): CsrContents {
  const info = new DerReader(content);
  info.expect(TAG.integer);
  const subject = parseName(info.expect(TAG.sequence).raw);
  const publicKeyDer = info.expect(TAG.sequence).raw;
  const extensions = parseAttributes(info.optional(0xa0)?.content);
  info.end();
  const names = extensions.find((one) => one.oid === OID.subjectAltName);
  return {
    publicKeyDer,
    subject,
    hasCommonName: subject.some((part) => part.oid === OID.commonName && part.value !== ""),
    extensions,
    names: names === undefined ? [] : parseGeneralNames(names.value),
  };
}

function parseAttributes(content: Buffer | undefined): X509Extension[] {
  const attributes = new DerReader(content ?? Buffer.alloc(0));
  const extensions: X509Extension[] = [];
  while (!attributes.atEnd) {
    const attribute = attributes.sequence();
    const type = attribute.oid();
    const values = attribute.enter(TAG.set);
    if (type === OID.extensionRequest) extensions.push(...parseExtensions(values.expect(TAG.sequence).raw));
  }
  return extensions;
}
