import { oid } from "./der-writer.ts";

/** The dotted form, for comparing what was read. */
export const OID = {
  organization: "2.5.4.10",
  commonName: "2.5.4.3",
  extensionRequest: "1.2.840.113549.1.9.14",
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
  rsaEncryption: "1.2.840.113549.1.1.1",
  sha256WithRsa: "1.2.840.113549.1.1.11",
  sha384WithRsa: "1.2.840.113549.1.1.12",
  sha512WithRsa: "1.2.840.113549.1.1.13",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  ecdsaWithSha384: "1.2.840.10045.4.3.3",
  ecdsaWithSha512: "1.2.840.10045.4.3.4",
  ed25519: "1.3.101.112",
} as const;

export type OidName = keyof typeof OID;

/** The encoded form, made once: certificates are issued by the thousand. */
export const OID_DER = Object.fromEntries(Object.entries(OID).map(([name, dotted]) => [name, oid(dotted)])) as Readonly<
  Record<OidName, Buffer>
>;
