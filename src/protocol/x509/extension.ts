import { DerReader } from "./der-reader.ts";
import { boolean, octetString, sequence, TAG } from "./der-writer.ts";
import { OID_DER, type OidName } from "./oids.ts";

export interface X509Extension {
  readonly oid: string;
  readonly critical: boolean;
  /** The extension's own DER, inside its octet string. */
  readonly value: Buffer;
}

export function extension(name: OidName, value: Uint8Array, critical: boolean): Buffer {
  // DER leaves a DEFAULT FALSE out.
  return critical
    ? sequence(OID_DER[name], boolean(true), octetString(value))
    : sequence(OID_DER[name], octetString(value));
}

export function parseExtensions(der: Buffer): X509Extension[] {
  const found: X509Extension[] = [];
  const list = new DerReader(der).sequence();
  while (!list.atEnd) {
    const one = list.sequence();
    const oid = one.oid();
    const critical = one.optional(TAG.boolean)?.content[0] === 0xff;
    found.push({ oid, critical, value: one.expect(TAG.octetString).content });
    one.end();
  }
  return found;
}
