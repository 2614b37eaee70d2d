import { DerReader } from "./der-reader.ts";
import { element, sequence, set, TAG, utf8String } from "./der-writer.ts";
import { OID_DER } from "./oids.ts";
import { X509Error } from "./x509-error.ts";

/** The parts of a distinguished name that a mesh uses. An empty string is present and empty, which differs from absent. */
export interface NameParts {
  readonly organization?: string;
  readonly commonName?: string;
}

const PRINTABLE = /^[A-Za-z0-9 '()+,\-./:=?]*$/;

/** A Name of at most two attributes, organization first; `{}` is the empty name. */
export function buildName(parts: NameParts): Buffer {
  const attributes = [
    ...(parts.organization === undefined ? [] : [attribute(OID_DER.organization, parts.organization)]),
    ...(parts.commonName === undefined ? [] : [attribute(OID_DER.commonName, parts.commonName)]),
  ];
  return sequence(...attributes);
}

/** Attribute values by dotted object identifier, in order. */
export function parseName(der: Buffer): { readonly oid: string; readonly value: string }[] {
  const found: { oid: string; value: string }[] = [];
  const rdns = new DerReader(der).sequence();
  while (!rdns.atEnd) {
    const rdn = rdns.enter(TAG.set);
    if (rdn.atEnd) throw new X509Error("bad-der", "DER: empty part of a name");
    while (!rdn.atEnd) {
      const pair = rdn.sequence();
      found.push({ oid: pair.oid(), value: pair.next().content.toString("utf8") });
      pair.end();
    }
  }
  return found;
}

function attribute(type: Buffer, value: string): Buffer {
  const text = PRINTABLE.test(value) ? element(TAG.printableString, Buffer.from(value, "latin1")) : utf8String(value);
  return set(sequence(type, text));
}
