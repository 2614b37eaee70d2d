import { createHash, type KeyObject } from "node:crypto";
import { DerReader } from "./der-reader.ts";
import {
  bitString,
  boolean,
  context,
  contextPrimitive,
  octetString,
  sequence,
  smallInteger,
  time,
  unsignedInteger,
} from "./der-writer.ts";
import { extension } from "./extension.ts";
import { buildGeneralNames } from "./general-names.ts";
import { OID_DER } from "./oids.ts";
import { signatureAlgorithm, signBytes } from "./signature.ts";

/** What goes into a certificate; names and the public key are complete DER elements. */
export interface CertificateFields {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly publicKeyDer: Buffer;
  readonly extensions: readonly Buffer[];
  /** Big-endian, and unlike that of any other certificate of the issuer. */
  readonly serial: Uint8Array;
}

const VERSION_3 = context(0, smallInteger(2));

/** Builds and signs an X.509 v3 certificate; resolves to its DER. */
export async function buildCertificate(fields: CertificateFields, signer: KeyObject): Promise<Buffer> {
  const { identifier } = signatureAlgorithm(signer);
  const body = sequence(
    VERSION_3,
    unsignedInteger(fields.serial),
    identifier,
    fields.issuer,
    sequence(time(fields.notBefore), time(fields.notAfter)),
    fields.subject,
    fields.publicKeyDer,
    context(3, sequence(...fields.extensions)),
  );
  return sequence(body, identifier, bitString(await signBytes(body, signer)));
}

/** Extensions ready for `CertificateFields.extensions`. */
export const certificateExtension = {
  subjectAltName: (hosts: readonly string[]): Buffer => extension("subjectAltName", buildGeneralNames(hosts), true),
  subjectKeyId: (id: Uint8Array): Buffer => extension("subjectKeyId", octetString(id), false),
  authorityKeyId: (id: Uint8Array): Buffer => extension("authorityKeyId", sequence(contextPrimitive(0, id)), false),
  /** DER leaves the FALSE of an end entity out, so its sequence is empty. */
  basicConstraints: (isCa: boolean): Buffer =>
    extension("basicConstraints", isCa ? sequence(boolean(true)) : sequence(), true),
  /** digitalSignature (bit 0) and keyEncipherment (bit 2). */
  leafKeyUsage: (): Buffer => extension("keyUsage", bitString(Buffer.of(0b1010_0000), 5), true),
  /** keyCertSign (bit 5) alone. */
  caKeyUsage: (): Buffer => extension("keyUsage", bitString(Buffer.of(0b0000_0100), 2), true),
  serverAndClientAuth: (): Buffer =>
    extension("extendedKeyUsage", sequence(OID_DER.serverAuth, OID_DER.clientAuth), false),
} as const;

/** RFC 5280 4.2.1.2 method 1: SHA-1 of the key's bits, without tag, length and unused-bits byte. */
export function keyIdentifier(publicKeyDer: Buffer): Buffer {
  const key = new DerReader(publicKeyDer).sequence();
  key.next();
  return createHash("sha1").update(key.bitString()).digest();
}
