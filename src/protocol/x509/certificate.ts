import { createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import { DerReader } from "./der-reader.ts";
import { TAG } from "./der-writer.ts";
import { parseExtensions } from "./extension.ts";
import { type GeneralName, parseGeneralNames } from "./general-names.ts";
import { OID } from "./oids.ts";
import { parsePemCertificates } from "./pem.ts";
import { X509Error } from "./x509-error.ts";

/** The fields of a certificate that decisions here depend on. */
export interface Certificate {
  readonly der: Buffer;
  /** Lower-case hex without leading zeros. */
  readonly serial: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Complete DER elements, comparable byte by byte. */
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly publicKeyDer: Buffer;
  readonly names: readonly GeneralName[];
  readonly isCa: boolean;
  readonly subjectKeyId: Buffer | undefined;
}

/** Parses one DER certificate; every failure is an `X509Error` with code "bad-certificate". Signatures are not looked at. */
export function parseCertificate(der: Buffer): Certificate {
  try {
    const outer = new DerReader(der);
    const body = outer.sequence().sequence();
    outer.end();
    body.optional(0xa0);
    const serial = body
      .expect(TAG.integer)
      .content.toString("hex")
      .replace(/^0+(?=.)/, "");
    body.expect(TAG.sequence);
    const issuer = body.expect(TAG.sequence).raw;
    const validity = body.sequence();
    const [notBefore, notAfter] = [validity.time(), validity.time()];
    const subject = body.expect(TAG.sequence).raw;
    const publicKeyDer = body.expect(TAG.sequence).raw;
    body.optional(0x81);
    body.optional(0x82);
    const extensions = readExtensions(body.optional(0xa3)?.content);
    return { der, serial, notBefore, notAfter, issuer, subject, publicKeyDer, ...extensions };
  } catch (cause) {
    throw new X509Error("bad-certificate", "not an X.509 certificate", { cause });
  }
}

/** The first certificate of a PEM text. */
export function parsePemCertificate(pem: string): Certificate {
  const first = parsePemCertificates(pem)[0];
  if (first === undefined) throw new X509Error("bad-certificate", "no PEM certificate found");
  return parseCertificate(first);
}

export function certificatePublicKey(certificate: Certificate): KeyObject {
  return createPublicKey({ key: certificate.publicKeyDer, format: "der", type: "spki" });
}

/** True when `issuer` names and really signed `certificate`. */
export function isIssuedBy(certificate: Certificate, issuer: Certificate): boolean {
  if (!certificate.issuer.equals(issuer.subject)) return false;
  try {
    return new X509Certificate(certificate.der).verify(certificatePublicKey(issuer));
  } catch {
    return false;
  }
}

function readExtensions(content: Buffer | undefined): Pick<Certificate, "names" | "isCa" | "subjectKeyId"> {
  const extensions = content === undefined ? [] : parseExtensions(content);
  const value = (oid: string) => extensions.find((one) => one.oid === oid)?.value;
  const names = value(OID.subjectAltName);
  const constraints = value(OID.basicConstraints);
  const keyId = value(OID.subjectKeyId);
  return {
    names: names === undefined ? [] : parseGeneralNames(names),
    isCa: constraints !== undefined && new DerReader(constraints).sequence().optional(TAG.boolean)?.content[0] === 0xff,
    subjectKeyId: keyId === undefined ? undefined : new DerReader(keyId).expect(TAG.octetString).content,
  };
}
